//! A server that is not asked now: what would be asked goes into a batch file, or is answered by one. Whoever judges or writes does as
//! with a server that answers at once, attempts, repeats and cascades included, so far as there are answers.

use std::{collections::BTreeMap, sync::Arc};

use super::{Endpoint, wire};
use crate::{
    backend::{Abilities, Backend, Reply, Request},
    batch::{BatchAnswers, BatchRequests},
    failure::{Failure, Kind},
};

/// Where requests go, or where answers come from.
#[derive(Debug, Clone)]
pub enum Batch {
    /// Requests are written, and none is answered.
    Out(Arc<BatchRequests>),
    /// Answers are read, and what has none is skipped.
    In(Arc<BatchAnswers>),
}

/// A server behind a batch.
#[derive(Debug)]
pub struct BatchEndpoint {
    endpoint: Endpoint,
    batch: Batch,
}

impl BatchEndpoint {
    /// What a server does was found out before; nothing more is asked of it.
    pub fn new(endpoint: Endpoint, batch: Batch) -> BatchEndpoint {
        BatchEndpoint { endpoint, batch }
    }
}

impl Backend for BatchEndpoint {
    fn identity(&self) -> BTreeMap<String, String> {
        self.endpoint.identity()
    }

    fn reported(&self) -> BTreeMap<String, String> {
        self.endpoint.reported()
    }

    fn abilities(&self) -> Abilities {
        Abilities { text_log_probs: false, ..self.endpoint.abilities() }
    }

    fn complete(&self, request: &Request) -> Result<Reply, Failure> {
        let id = request.key("complete", &self.endpoint.identity);
        match &self.batch {
            Batch::Out(requests) => {
                requests.add(&id, &wire::body(request, &self.endpoint.model, &self.endpoint.found));
                Err(Failure::new(Kind::Stopped, "it is in the batch file"))
            }
            Batch::In(answers) => Ok(wire::reply(answers.body(&id)?, &request.wanted)),
        }
    }

    fn most_output(&self, request: &Request) -> u32 {
        self.endpoint.most_output(request)
    }
}
