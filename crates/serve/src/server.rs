//! Sockets: connections within their limits, signals, and the end, at which accepted work is finished or told.

use std::{
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{Extension, Router};
use hyper::{
    rt::{Sleep, Timer},
    server::conn::http1,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{interval, sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;

use crate::{
    limits::{HEAD_BYTES, Limits, MOST_HEADERS, UNREAD},
    routes::{page::OverTls, router},
    service::{ServeError, Service},
    signals::{Signals, Told},
    tls::{Certificate, Tls},
};

/// Where a service listens.
#[derive(Debug, Clone)]
pub struct Listen {
    /// The address; another than this machine's own needs a token.
    pub address: SocketAddr,
    /// The certificate that it shows; without one it speaks plainly.
    pub certificate: Option<Certificate>,
}

/// How often counters are gathered.
const GATHER: Duration = Duration::from_secs(5);

/// How long a listener that cannot accept, for want of descriptors, waits before it tries again.
const NO_SOCKET: Duration = Duration::from_millis(50);

/// How long those who are told at the end that nothing comes may take to hear it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Threads of the sockets. They only move bytes: what computes has threads of its own.
const SOCKET_THREADS: usize = 2;

/// Serves until the process is told to stop, by SIGTERM or Ctrl-C; SIGHUP has tokens and detectors read anew. `listening` is told the
/// address, with its port, once requests are taken.
///
/// # Errors
/// [`ServeError::NoToken`], [`ServeError::Listen`], [`ServeError::Tls`], [`ServeError::Threads`].
pub fn serve(service: &Arc<Service>, listen: &Listen, listening: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    if !listen.address.ip().is_loopback() && service.is_open() {
        return Err(ServeError::NoToken(listen.address));
    }
    let tls = listen.certificate.as_ref().map(Tls::read).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(SOCKET_THREADS)
        .thread_name("sockets")
        .enable_all()
        .build()
        .map_err(ServeError::Threads)?;
    let ended = runtime.block_on(run(service, listen.address, tls, listening));
    if let Some(traces) = &service.traces {
        traces.close();
    }
    ended
}

async fn run(
    service: &Arc<Service>,
    address: SocketAddr,
    tls: Option<Tls>,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let at = |source| ServeError::Listen { address, source };
    let mut signals = Signals::new().map_err(ServeError::Threads)?;
    let listener = TcpListener::bind(address).await.map_err(at)?;
    listening(listener.local_addr().map_err(at)?);
    let watching = GracefulShutdown::new();
    let door = Door {
        routes: if tls.is_some() { router(service).layer(Extension(OverTls)) } else { router(service) },
        service: Arc::clone(service),
        tls,
        places: Arc::new(Semaphore::new(service.limits.connections.clamp(1, Semaphore::MAX_PERMITS))),
        n_open: Arc::new(AtomicUsize::new(0)),
    };
    let told = async {
        while signals.next().await == Told::Reload {
            let service = Arc::clone(service);
            // models may be read from disk
            let _reloaded = tokio::task::spawn_blocking(move || service.reload()).await;
        }
    };
    let gathering = async {
        let mut often = interval(GATHER);
        loop {
            often.tick().await;
            service.meter.gather();
        }
    };
    // only one who is told to stop ends; with the rest the listener is closed
    tokio::select! {
        () = door.accept(listener, &watching) => {}
        () = told => {}
        () = gathering => {}
    }
    tracing::info!("stopping: {} pieces of work wait", service.queue.len());
    service.stop();
    let mut drained = pin!(watching.shutdown());
    if timeout(service.limits.drain, &mut drained).await.is_err() {
        service.give_up();
        // what is told must still be sent
        let _sent = timeout(LAST_WORDS, drained).await;
    }
    Ok(())
}

/// What a connection needs.
struct Door {
    routes: Router,
    service: Arc<Service>,
    tls: Option<Tls>,
    places: Arc<Semaphore>,
    n_open: Arc<AtomicUsize>,
}

impl Door {
    /// Lets connections in, as many as there are places for.
    async fn accept(&self, listener: TcpListener, watching: &GracefulShutdown) {
        loop {
            // the semaphore is never closed
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!("a connection was not accepted: {error}");
                    sleep(NO_SOCKET).await;
                    continue;
                }
            };
            let n_open = Arc::clone(&self.n_open);
            self.service.meter.connected(n_open.fetch_add(1, Ordering::Relaxed) + 1);
            let (routes, tls, watcher) = (self.routes.clone(), self.tls.clone(), watching.watcher());
            let service = Arc::clone(&self.service);
            tokio::spawn(async move {
                serve_one(stream, routes, tls, watcher, &service.limits).await;
                n_open.fetch_sub(1, Ordering::Relaxed);
                drop(place);
            });
        }
    }
}

/// Serves one connection to its end, which is the client's business.
async fn serve_one(stream: TcpStream, routes: Router, tls: Option<Tls>, watcher: Watcher, limits: &Limits) {
    // answers are written whole
    let _slower_without = stream.set_nodelay(true);
    match tls {
        None => converse(stream, routes, watcher, limits).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = timeout(limits.patience, tls.accept(stream)).await {
                converse(stream, routes, watcher, limits).await;
            }
        }
    }
}

async fn converse<S>(stream: S, routes: Router, watcher: Watcher, limits: &Limits)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(UNREAD));
    let connection = http1::Builder::new()
        .timer(HeadTimer { first: limits.patience, has_begun: AtomicBool::new(false) })
        .header_read_timeout(limits.idle)
        .max_headers(MOST_HEADERS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(routes));
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!("a connection ended: {error}");
    }
}

/// The clock of a connection's heads, of which hyper has one: the first head comes at once, and before each of the next ones the
/// connection may be idle. Who would hold connections by unfinished heads can hold them as long by none.
#[derive(Debug)]
struct HeadTimer {
    first: Duration,
    has_begun: AtomicBool,
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        TokioTimer::new().sleep(duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        match self.has_begun.swap(true, Ordering::Relaxed) {
            true => TokioTimer::new().sleep_until(deadline),
            false => self.sleep(self.first),
        }
    }
}
