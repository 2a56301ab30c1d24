//! A stream of events with one field more in the last of them. Everything goes on as it comes but the events that end a text: they wait for
//! the verdict, which can only be asked for when there is nothing more to read.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{
    BoxError,
    body::{Bytes, HttpBody},
};
use hyper::body::Frame;

use super::{
    events::{Splitter, place_of_data},
    inquiry::{Inquiry, Said},
    passing::{Passing, cut},
    written::{Part, Reader, with_field},
};

/// A stream whose last event gets a field.
pub(super) struct Attaching {
    inner: Passing,
    splitter: Splitter,
    /// Until the question is asked, or nothing is looked at any more.
    reading: Option<(Reader, Inquiry)>,
    asking: Option<Pin<Box<dyn Future<Output = Said> + Send>>>,
    /// Events that wait for the verdict, or for a sign that the stream goes on.
    held: Vec<Vec<u8>>,
    ready: VecDeque<Bytes>,
    /// How the stream ended.
    end: Option<Result<(), BoxError>>,
    /// Whether the server had a turn to write what came before an error.
    is_written: bool,
}

impl Attaching {
    /// Of the stream that `reader` reads; `inquiry` is made when it has ended.
    pub fn new(inner: Passing, reader: Reader, inquiry: Inquiry) -> Attaching {
        Attaching {
            inner,
            splitter: Splitter::default(),
            reading: Some((reader, inquiry)),
            asking: None,
            held: Vec::new(),
            ready: VecDeque::new(),
            end: None,
            is_written: false,
        }
    }

    fn take(&mut self, bytes: Bytes) {
        if self.reading.is_none() && self.asking.is_none() {
            self.ready.push_back(bytes);
            return;
        }
        self.splitter.push(&bytes);
        while self.reading.is_some() || self.asking.is_some() {
            match self.splitter.next() {
                Ok(Some(event)) => self.event(event),
                Ok(None) => return,
                Err(_) => break,
            }
        }
        // what is left is not looked at
        self.look_away();
    }

    fn event(&mut self, event: Vec<u8>) {
        let Some((reader, _)) = &mut self.reading else {
            // it stands behind those that wait
            self.held.push(event);
            return;
        };
        match reader.take_event(&event) {
            None => {
                self.held.push(event);
                self.look_away();
            }
            Some(Part::End) => {
                self.held.push(event);
                self.ask();
            }
            Some(Part::Text { has_ended: true }) => self.held.push(event),
            // what was used of the generator stands behind the last text
            Some(Part::Other) if !self.held.is_empty() => self.held.push(event),
            Some(Part::Text { has_ended: false } | Part::Other) => {
                self.release();
                self.ready.push_back(event.into());
            }
        }
    }

    /// Lets everything go on as it is from here on.
    fn look_away(&mut self) {
        if let Some((reader, inquiry)) = self.reading.take() {
            inquiry.untold(&reader.end().err().unwrap_or_else(cut));
        }
        self.release();
        let rest = self.splitter.rest();
        if !rest.is_empty() {
            self.ready.push_back(rest.into());
        }
    }

    fn ask(&mut self) {
        if let Some((reader, inquiry)) = self.reading.take() {
            self.asking = Some(Box::pin(inquiry.of(move || reader.end())));
        }
    }

    /// Lets events go that waited.
    fn release(&mut self) {
        self.ready.extend(self.held.drain(..).map(Bytes::from));
    }

    /// Puts what is said into the last event that can take it.
    fn attach(&mut self, said: &Said) {
        let field = said.field();
        let attached = self.held.iter().enumerate().rev().find_map(|(place, event)| {
            let data = place_of_data(event)?;
            let more = with_field(&event[data.clone()], &field)?;
            Some((place, [&event[..data.start], &more, &event[data.end..]].concat()))
        });
        match attached {
            Some((place, event)) => self.held[place] = event,
            None => tracing::info!("a stream had no last event to attach a verdict to"),
        }
    }
}

impl HttpBody for Attaching {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if let Some(asking) = &mut self.asking {
                let said = ready!(asking.as_mut().poll(cx));
                self.asking = None;
                self.attach(&said);
                self.look_away();
                continue;
            }
            match self.end.take() {
                Some(Ok(())) => {
                    self.end = Some(Ok(()));
                    return Poll::Ready(None);
                }
                // what was let go just now is written before the connection breaks off
                Some(Err(error)) if !self.is_written => {
                    self.end = Some(Err(error));
                    self.is_written = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Err(error)) => {
                    self.end = Some(Ok(()));
                    return Poll::Ready(Some(Err(error)));
                }
                None => {}
            }
            match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                // what a stream of events has behind its end is nothing that it could say
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.take(bytes);
                    }
                }
                Some(Err(error)) => {
                    if let Some((reader, _)) = &mut self.reading {
                        reader.give_up(cut());
                    }
                    self.look_away();
                    self.end = Some(Err(error));
                }
                None => {
                    self.end = Some(Ok(()));
                    // one that tells its end by nothing else
                    if self.reading.is_some() {
                        let rest = self.splitter.rest();
                        if !rest.is_empty() {
                            self.event(rest);
                        }
                        self.ask();
                    }
                }
            }
        }
    }
}

impl Drop for Attaching {
    /// The client has gone in the middle.
    fn drop(&mut self) {
        if let Some((_, inquiry)) = self.reading.take() {
            inquiry.untold(&cut());
        }
    }
}
