//! Work on its way into the queue, and its answers on their way out: all together, or each as soon as it is there.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use futures_util::stream::unfold;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{Instant, timeout_at},
};

use crate::{
    body::Terms,
    queue::NotTaken,
    refusal::Refusal,
    service::Service,
    tokens::Client,
    traces::PLACE,
    work::{Answer, Output, Piece, Work},
};

/// The answers of one request. Without it nobody waits for them, and what was not begun is not begun.
pub(crate) struct Answers {
    coming: UnboundedReceiver<Answer>,
    n: usize,
    deadline: Instant,
    within: Duration,
}

impl From<NotTaken> for Refusal {
    fn from(not: NotTaken) -> Self {
        match not {
            NotTaken::Full(wait) => Refusal::Full(wait),
            NotTaken::Closed => Refusal::Stopping,
        }
    }
}

impl Answers {
    /// Puts the work of a request into its client's line.
    pub fn to(service: &Service, client: &Arc<Client>, work: Vec<Work>, terms: Terms) -> Result<Answers, Refusal> {
        let n = work.len();
        let Terms { lent, within } = terms;
        service.queue.would_take(client, n, within)?;
        client.samples(n)?;
        let (reply, coming) = unbounded_channel();
        let (lent, place_in_trace) = (Arc::new(lent), PLACE.try_get().ok().flatten());
        let deadline = Instant::now() + within;
        let piece = |(place, work)| {
            let (reply, lent) = (reply.clone(), Arc::clone(&lent));
            Piece { work, place, deadline: deadline.into_std(), reply, place_in_trace, _lent: lent }
        };
        service.queue.put(client, work.into_iter().enumerate().map(piece).collect())?;
        Ok(Answers { coming, n, deadline, within })
    }

    /// The next one that is there.
    async fn next(&mut self) -> Result<(usize, Output), Refusal> {
        match timeout_at(self.deadline, self.coming.recv()).await {
            Ok(Some(Answer { place, result })) => Ok((place, result?)),
            // a worker lets go of what is late
            Ok(None) if Instant::now() < self.deadline => Err(Refusal::Fault),
            Ok(None) | Err(_) => Err(Refusal::Late(self.within)),
        }
    }

    /// All of them, in the order of the request.
    pub async fn all(mut self) -> Result<Vec<Output>, Refusal> {
        let mut outputs: Vec<Option<Output>> = Vec::new();
        outputs.resize_with(self.n, || None);
        for _ in 0..self.n {
            let (place, output) = self.next().await?;
            outputs[place] = Some(output);
        }
        outputs.into_iter().map(|output| output.ok_or(Refusal::Fault)).collect()
    }

    /// Each as an event of this name, with its place in the request as the event's id; `end` is the last, or `error`.
    pub fn events(self, name: &'static str) -> Response {
        let events = unfold(Some((self, 0)), move |state| async move {
            let (mut answers, n_told) = state?;
            if n_told == answers.n {
                return Some((Ok::<Event, Infallible>(Event::default().event("end").data(n_told.to_string())), None));
            }
            Some(match answers.next().await {
                Ok((place, output)) => {
                    let event = Event::default().event(name).id(place.to_string()).data(output.text);
                    (Ok(event), Some((answers, n_told + 1)))
                }
                Err(refusal) => (Ok(Event::default().event("error").data(refusal.body())), None),
            })
        });
        Sse::new(events).keep_alive(KeepAlive::default()).into_response()
    }
}
