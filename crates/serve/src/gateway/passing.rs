//! An answer on its way to the client: as it comes, with a reader beside it, or kept back until it is there whole.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    BoxError,
    body::{Body, Bytes, HttpBody},
};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::written::{Reader, lend};
use crate::{limits::Lent, refusal::Refusal, service::Service};

/// The generator's answer as it comes. What does not come in time ends it with an error, by which the client's connection breaks off: it
/// must not take a part for the whole.
pub(super) struct Passing {
    inner: Body,
    patience: Duration,
    until: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl Passing {
    /// Of this body, of which the next part comes within `patience` of when it is asked for.
    pub fn new(inner: Body, patience: Duration) -> Passing {
        Passing { inner, patience, until: Box::pin(sleep(patience)), is_waiting: false }
    }
}

impl HttpBody for Passing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(frame) => {
                self.is_waiting = false;
                if let Some(Err(error)) = &frame {
                    tracing::warn!("the generator broke off its answer: {error}");
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending => {
                if !self.is_waiting {
                    let until = Instant::now() + self.patience;
                    self.until.as_mut().reset(until);
                    self.is_waiting = true;
                }
                ready!(self.until.as_mut().poll(cx));
                tracing::warn!("the generator's answer stopped for {:?}", self.patience);
                Poll::Ready(Some(Err(Refusal::UpstreamLate(self.patience).into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// What is done with what a reader has read.
type Done = Box<dyn FnOnce(Reader) + Send>;

/// An answer that passes as it comes, to the byte, and is read beside.
pub(super) struct Tapped {
    inner: Passing,
    reading: Option<(Reader, Done)>,
}

impl Tapped {
    /// One that `reader` reads; `done` is told when there is no more to read.
    pub fn new(inner: Passing, reader: Reader, done: impl FnOnce(Reader) + Send + 'static) -> Tapped {
        Tapped { inner, reading: Some((reader, Box::new(done))) }
    }

    fn end(&mut self) {
        if let Some((reader, done)) = self.reading.take() {
            done(reader);
        }
    }

    fn cut(&mut self) {
        if let Some((reader, _)) = &mut self.reading {
            reader.give_up(cut());
        }
        self.end();
    }
}

/// Why half an answer is not checked.
pub(super) fn cut() -> Refusal {
    Refusal::Unreadable("the answer broke off".to_owned(), None)
}

impl HttpBody for Tapped {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                if let (Some((reader, _)), Some(bytes)) = (&mut self.reading, frame.data_ref()) {
                    reader.feed(bytes);
                }
                // one whose length is known is not asked again once it is there
                let is_done = self.reading.as_ref().is_some_and(|(reader, _)| reader.is_done());
                if is_done || self.inner.is_end_stream() {
                    self.end();
                }
            }
            Some(Err(_)) => self.cut(),
            None => self.end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Tapped {
    /// The client has gone, or nothing was left to send: an answer without a body never begins to pass.
    fn drop(&mut self) {
        match self.inner.is_end_stream() {
            true => self.end(),
            false => self.cut(),
        }
    }
}

/// An answer that was kept back.
pub(super) enum Whole {
    /// All of it.
    All { bytes: Vec<u8>, lent: Vec<Lent> },
    /// More than is kept: what has come, what comes, and why it is not checked.
    Begun { begun: Vec<u8>, rest: Passing, refusal: Refusal },
    /// The generator did not bring it to its end.
    Failed(Refusal),
}

/// Reads an answer to its end, as far as there is room.
pub(super) async fn whole(mut body: Passing, service: &Arc<Service>) -> Whole {
    let (mut bytes, mut lent) = (Vec::new(), Vec::new());
    loop {
        let frame = match body.frame().await {
            None => return Whole::All { bytes, lent },
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                let refusal = error.downcast::<Refusal>().map(|refusal| *refusal);
                return Whole::Failed(refusal.unwrap_or(Refusal::Upstream("broke off in its answer")));
            }
        };
        let Ok(more) = frame.into_data() else { continue };
        bytes.extend_from_slice(&more);
        let within = crate::asked::within("the answer", " bytes", bytes.len(), service.limits.body_bytes);
        if let Err(refusal) = within.and_then(|()| lend(&service.room, &mut lent, bytes.len())) {
            return Whole::Begun { begun: bytes, rest: body, refusal };
        }
    }
}

/// An answer of which a part was kept back, and now goes on as it comes.
pub(super) struct Begun {
    begun: Option<Bytes>,
    rest: Passing,
}

impl Begun {
    /// What has come, and what comes.
    pub fn new(begun: Vec<u8>, rest: Passing) -> Begun {
        Begun { begun: Some(Bytes::from(begun)).filter(|begun| !begun.is_empty()), rest }
    }
}

impl HttpBody for Begun {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.begun.take() {
            Some(begun) => Poll::Ready(Some(Ok(Frame::data(begun)))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.begun.is_none() && self.rest.is_end_stream()
    }
}
