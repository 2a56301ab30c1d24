//! Questions of who lives in this process: they wait in a line of their own among the clients'.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::mpsc::unbounded_channel;
use veridiff_facts::{checker::SharedTree, finding::Finding};
use veridiff_text::sample::{Sample, Task, settle_changes};

use crate::{
    refusal::Refusal,
    service::Service,
    work::{Piece, Reading, Work},
};

/// How long one who waits in this process waits: nobody sits before it.
const PATIENCE: Duration = Duration::from_secs(3600);

impl Service {
    /// What findings about texts of a task hang on now, beside the text, its change and the tree ([`Gate::basis`](veridiff_core::gate::Gate::basis)).
    pub fn basis(&self, task: Task) -> String {
        self.resident().gate.basis(task)
    }

    /// The findings of samples in their order, as `/v1/check` gives them, with what is known of the tree that they are changes of. It
    /// blocks, and is not for the threads of the sockets.
    ///
    /// # Errors
    /// [`Refusal::Full`], [`Refusal::NoRoom`], [`Refusal::Stopping`], and [`Refusal::Fault`] where a worker failed.
    pub fn findings(&self, mut samples: Vec<Sample>, tree: Option<SharedTree>) -> Result<Vec<Finding>, Refusal> {
        settle_changes(&mut samples);
        let n = samples.len();
        let lent = self.room.lend(samples.iter().map(|sample| sample.diff.len() + sample.text.len()).sum())?;
        let (lent, deadline) = (Arc::new(lent), Instant::now() + PATIENCE);
        let reading = tree.map_or(Reading::Check, |tree| Reading::CheckIn(Arc::new(tree)));
        let (reply, mut coming) = unbounded_channel();
        let piece = |(place, sample)| Piece {
            work: Work::Sample(reading.clone(), sample),
            place,
            deadline,
            reply: reply.clone(),
            place_in_trace: None,
            _lent: Arc::clone(&lent),
        };
        self.queue.put(&self.inside, samples.into_iter().enumerate().map(piece).collect())?;
        drop(reply);
        let mut findings = vec![None; n];
        // whatever becomes of a piece, its end of the channel is dropped
        while let Some(answer) = coming.blocking_recv() {
            findings[answer.place] = answer.result?.finding.map(|finding| *finding);
        }
        findings.into_iter().map(|finding| finding.ok_or(Refusal::Fault)).collect()
    }
}
