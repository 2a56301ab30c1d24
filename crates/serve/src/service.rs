//! The service without its sockets: what is resident, who may ask, what waits, and the workers.

use std::{
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::{
    audit::Audit,
    gateway::{Gateway, GatewayOptions},
    hooks::SharedHooks,
    limits::{Limits, Room},
    meter::Meter,
    pages::SharedPages,
    queue::Queue,
    resident::{Open, Resident},
    sessions::Sessions,
    tokens::{Client, TokenError, TokenSource, Tokens},
    traces::Traces,
    work::Piece,
    worker,
};

/// How a service is set up.
#[derive(Debug, Clone, Default)]
pub struct ServiceOptions {
    /// What clients may take.
    pub limits: Limits,
    /// Who may ask.
    pub tokens: TokenSource,
    /// Pieces of work that are computed at the same time, each by one thread; with 1 all threads compute one after the other.
    pub workers: usize,
    /// Whether what clients send is told to who reads the log.
    pub tells_texts: bool,
    /// Where requests are written down.
    pub audit: Option<PathBuf>,
    /// The collector that is sent spans, by its whole URL.
    pub traces: Option<String>,
    /// The generator that it stands before, if it does.
    pub gateway: Option<GatewayOptions>,
    /// Who takes webhooks of code hosts, if anybody does.
    pub hooks: Option<SharedHooks>,
    /// Who shows pages to people, if anybody does.
    pub pages: Option<SharedPages>,
}

/// Why a service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// What it needs cannot be opened.
    #[error("{0}")]
    Open(String),
    /// Its tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// An address beyond this machine without a token.
    #[error("`{0}` is open to other machines, and no token is set")]
    NoToken(std::net::SocketAddr),
    /// The audit log cannot be written.
    #[error("cannot write `{}`", path.display())]
    Audit {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The address of a collector is none.
    #[error("spans cannot be sent to `{0}`: it is no URL of HTTP")]
    Traces(String),
    /// The address of a generator cannot be used.
    #[error("`{address}` cannot be passed on to: {why}")]
    Upstream {
        /// The address, without a secret.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// The certificate or its key cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Tls(String),
    /// The address cannot be listened at, or a thread cannot be started.
    #[error("cannot listen at `{address}`")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The system gives no threads.
    #[error("cannot start threads")]
    Threads(#[source] std::io::Error),
}

impl ServeError {
    /// How to mend it, if that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            ServeError::Tokens(error) => Some(error.hint()),
            ServeError::NoToken(_) => {
                Some("give a file of --tokens, or VERIDIFF_SERVE_TOKEN; or listen at 127.0.0.1".to_owned())
            }
            ServeError::Tls(_) => Some("PEM files: the chain, its own certificate first, and the key".to_owned()),
            ServeError::Traces(_) => Some("the whole URL, such as http://localhost:4318/v1/traces".to_owned()),
            ServeError::Upstream { .. } => Some(
                "the address before /chat/completions, such as http://localhost:8000/v1; VERIDIFF_UPSTREAM_KEY has its key"
                    .to_owned(),
            ),
            ServeError::Listen { .. } => Some("does another program listen there?".to_owned()),
            ServeError::Open(_) | ServeError::Audit { .. } | ServeError::Threads(_) => None,
        }
    }
}

/// The part of the room for bodies that is another one's, for who is not known.
const STRANGERS: usize = 2;

/// A service that answers requests, from wherever they come.
pub struct Service {
    pub(crate) limits: Limits,
    pub(crate) queue: Queue<Piece>,
    pub(crate) room: Room,
    /// That of bodies whose sender is not known yet.
    pub(crate) room_of_strangers: Room,
    pub(crate) meter: Meter,
    pub(crate) audit: Option<Audit>,
    pub(crate) tells_texts: bool,
    pub(crate) traces: Option<Traces>,
    pub(crate) gateway: Option<Gateway>,
    pub(crate) hooks: Option<SharedHooks>,
    pub(crate) pages: Option<SharedPages>,
    pub(crate) sessions: Sessions,
    pub(crate) inside: Arc<Client>,
    resident: RwLock<Arc<Resident>>,
    tokens: RwLock<Arc<Tokens>>,
    token_source: TokenSource,
    open: Box<Open>,
    is_stopping: AtomicBool,
}

impl Service {
    /// Opens what is resident and starts the workers.
    ///
    /// # Errors
    /// [`ServeError`], but for what is about sockets.
    pub fn start(options: ServiceOptions, open: Box<Open>) -> Result<Arc<Service>, ServeError> {
        let ServiceOptions { limits, tokens: token_source, workers, tells_texts, audit, traces, gateway, hooks, pages } =
            options;
        let tokens = Tokens::read(&token_source, &limits, None)?;
        let audit =
            audit.map(|path| Audit::open(&path).map_err(|source| ServeError::Audit { path, source })).transpose()?;
        let traces = traces.map(|endpoint| Traces::to(&endpoint)).transpose()?;
        let gateway = gateway.map(Gateway::new).transpose()?;
        let resident = open(None).map_err(ServeError::Open)?;
        let service = Arc::new(Service {
            queue: Queue::new(limits.queue, workers),
            room: Room::new(limits.bytes_in_flight),
            room_of_strangers: Room::new((limits.bytes_in_flight / STRANGERS).max(limits.body_bytes)),
            meter: Meter::new(gateway.is_some()),
            audit,
            tells_texts,
            traces,
            gateway,
            hooks,
            pages,
            sessions: Sessions::new().map_err(ServeError::Open)?,
            inside: Client::inside(),
            resident: RwLock::new(Arc::new(resident)),
            tokens: RwLock::new(Arc::new(tokens)),
            token_source,
            open,
            is_stopping: AtomicBool::new(false),
            limits,
        });
        for n in 0..workers.max(1) {
            let service = Arc::clone(&service);
            let worker = thread::Builder::new().name(format!("worker {n}"));
            worker.spawn(move || worker::run(&service, workers > 1)).map_err(ServeError::Threads)?;
        }
        Ok(service)
    }

    /// What is resident now; a request that has it goes on with it whatever is loaded meanwhile.
    pub(crate) fn resident(&self) -> Arc<Resident> {
        Arc::clone(&self.resident.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.tokens.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether only this machine is answered, since there are no tokens.
    pub fn is_open(&self) -> bool {
        !self.tokens().are_needed()
    }

    /// Reads tokens and detectors anew, and opens the audit log anew. What cannot be read is told, and stays as it was; tokens never
    /// become none.
    pub fn reload(&self) {
        if let Some(audit) = &self.audit {
            audit.reopen();
        }
        let before = self.tokens();
        match Tokens::read(&self.token_source, &self.limits, Some(&before)) {
            Ok(tokens) => {
                *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tokens);
                tracing::info!("tokens were read anew");
            }
            Err(error) => tracing::error!("the tokens stay as they were: {error}"),
        }
        match (self.open)(Some(&self.resident())) {
            Ok(resident) => {
                *self.resident.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(resident);
                tracing::info!("detectors were read anew");
            }
            Err(error) => tracing::error!("the detectors stay as they were: {error}"),
        }
    }

    /// Whether requests are still taken.
    pub fn is_ready(&self) -> bool {
        !self.is_stopping.load(Ordering::Relaxed)
    }

    /// Takes no more requests; what waits is finished.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.queue.close();
    }

    /// Tells whoever still waits that nothing comes any more.
    pub(crate) fn give_up(&self) {
        for piece in self.queue.clear() {
            piece.answer(Err(crate::refusal::Refusal::Stopping));
        }
    }
}
