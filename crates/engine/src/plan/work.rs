//! What reading a text costs on paper: operations and bytes of each step, from the model's numbers and the lengths.
//!
//! For a decoder-only model with L blocks of P parameters each, width H, queries of width O, F hidden units, V words; `r` rows
//! behind `p` others see `pairs = r p + r (r + 1) / 2` keys:
//!
//! | step, of one block unless it says otherwise | matrix products | attention |
//! |---|---|---|
//! | forward, `r` rows | `2 r P` | `4 O pairs`: scores, values |
//! | head, T rows, once | `2 T V H`, and as much again where gradients begin there | |
//! | linearising `s` rows of which `k` are kept | `2 (s - k) (P - F H)`: nothing goes out of the hidden units | `4 O pairs(s)` |
//! | backward, B targets over `s` rows | `2 B s P`; in the last block the feed-forward network of B rows only | `8 B O pairs(s)`: four gradients |
//!
//! Bytes are what passes through memory beside the products' operands in cache: the weights once a call, rows between the products as
//! often as they are read and written. Softmaxes count with attention's operations, to which they are in a fixed ratio.

use std::ops::{Add, AddAssign, Mul};

use super::{Footprint, LOGIT_ROWS, Lengths, Plan};

/// What kind of work a reading consists of. Each has rates of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Rows go through the blocks.
    Forward,
    /// Logits of the text's rows and what is read off them; with gradients the way back through the vocabulary too.
    Head,
    /// Blocks are run again for what gradients need.
    Linearize,
    /// Gradients go back through the blocks.
    Backward,
}

impl Step {
    /// All steps, in the order of a reading.
    pub const ALL: [Step; 4] = [Step::Forward, Step::Head, Step::Linearize, Step::Backward];
}

/// An amount of work.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// Floating-point operations of products with weights; a multiplication and an addition are two.
    pub products: f64,
    /// Those of attention's products.
    pub attention: f64,
    /// Bytes that pass through memory.
    pub bytes: f64,
}

impl Work {
    /// Operations of all products.
    pub fn operations(self) -> f64 {
        self.products + self.attention
    }
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work {
            products: self.products + other.products,
            attention: self.attention + other.attention,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl Mul<f64> for Work {
    type Output = Work;

    fn mul(self, times: f64) -> Work {
        Work { products: self.products * times, attention: self.attention * times, bytes: self.bytes * times }
    }
}

/// The work of some readings, by step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bill([Work; Step::ALL.len()]);

impl Bill {
    /// The work of one step.
    pub fn of(&self, step: Step) -> Work {
        self.0[step as usize]
    }

    /// Operations of all products.
    pub fn operations(&self) -> f64 {
        self.0.iter().map(|work| work.operations()).sum()
    }

    fn add(&mut self, step: Step, work: Work) {
        self.0[step as usize] = self.0[step as usize] + work;
    }
}

impl AddAssign for Bill {
    fn add_assign(&mut self, other: Bill) {
        Step::ALL.into_iter().for_each(|step| self.add(step, other.of(step)));
    }
}

/// Keys that `rows` rows see behind `behind` others, each at most `window` of them.
fn pairs(rows: usize, behind: usize, window: Option<usize>) -> f64 {
    let up_to = |n: usize| {
        let full = n.min(window.unwrap_or(n));
        (full * (full + 1) / 2 + (n - full) * full) as f64
    };
    up_to(behind + rows) - up_to(behind)
}

impl Footprint {
    /// Whether the work of a reading is counted: a decoder-only model on a CPU, by the kernels of our own.
    pub fn is_counted(&self) -> bool {
        self.config.is_decoder_only && !self.composed()
    }

    /// Parameters of a block that rows are multiplied by.
    fn block(&self) -> f64 {
        (self.config.n_block_parameters / self.config.num_hidden_layers.max(1)) as f64
    }

    /// Bytes of a row that one reading or writing of each of its widths takes: hidden, feed-forward, heads, queries with keys and
    /// values.
    fn row(&self, hidden: u64, units: u64, heads: u64, qkv: u64) -> f64 {
        let (h, f, o, w, _) = self.widths();
        ((hidden * h + units * f + heads * o + qkv * w) * self.element()) as f64
    }

    /// One block's forward pass over `rows` rows behind `behind` others. With `insides` what gradients need of the rows is kept.
    pub fn forward_work(&self, rows: usize, behind: usize, insides: bool) -> Work {
        if rows == 0 {
            return Work::default();
        }
        let o = self.widths().2 as f64;
        Work {
            products: 2.0 * rows as f64 * self.block(),
            attention: 4.0 * o * pairs(rows, behind, self.config.window),
            // norms and residuals; gate, up and hidden units, and their derivatives; heads put together; rotation and keys kept
            bytes: self.block() * self.weight() as f64 + rows as f64 * self.row(8, if insides { 10 } else { 6 }, 3, 4),
        }
    }

    /// Logits of `rows` rows and what is read off them: scores; how the tokens stand with `ranks`; with `seeds` gradients too.
    pub fn head_work(&self, rows: usize, ranks: bool, seeds: bool) -> Work {
        let (v, h) = (self.config.vocab_size as f64, self.config.hidden_size as f64);
        let both = if seeds { 2.0 } else { 1.0 };
        // written, copied, read for the largest and for the sums; once more for ranks; written over and read for gradients
        let passes = 5.0 + if ranks { 1.0 } else { 0.0 } + if seeds { 3.0 } else { 0.0 };
        let table = v * h * self.weight() as f64 * if seeds { 4.0 } else { 1.0 };
        Work {
            products: both * 2.0 * rows as f64 * v * h,
            attention: 0.0,
            bytes: rows.div_ceil(LOGIT_ROWS) as f64 * table + passes * rows as f64 * v * self.element() as f64,
        }
    }

    /// One block linearised at `rows` rows, of which the insides of the first `kept` are there.
    pub fn linearize_work(&self, rows: usize, kept: usize, plan: &Plan) -> Work {
        let (h, f, o, ..) = self.widths();
        let new = (rows - kept.min(rows.saturating_sub(1))) as f64;
        let transposing = if plan.keeps_transposed { 0.0 } else { 2.0 };
        let scores = (self.config.num_attention_heads * rows * rows) as f64;
        Work {
            products: 2.0 * new * (self.block() - (h * f) as f64),
            attention: 4.0 * o as f64 * pairs(rows, 0, self.config.window),
            bytes: (1.0 + transposing) * self.block() * self.weight() as f64
                + new * self.row(6, 8, 2, 2)
                + rows as f64 * self.row(3, 0, 2, 3)
                + scores * self.weight() as f64,
        }
    }

    /// Gradients of `targets` targets together through one block, over `rows` rows each.
    pub fn backward_work(&self, targets: usize, rows: usize) -> Work {
        let o = self.widths().2 as f64;
        let all = (targets * rows) as f64;
        Work {
            products: 2.0 * all * self.block(),
            attention: 8.0 * o * targets as f64 * pairs(rows, 0, self.config.window),
            bytes: self.block() * self.weight() as f64 + all * self.row(10, 0, 4, 4),
        }
    }

    /// The same in the last block, where the feed-forward network has one row a target.
    fn last_backward_work(&self, targets: usize, rows: usize) -> Work {
        let (h, f, ..) = self.widths();
        let network = 2.0 * (targets * (rows - 1)) as f64 * 3.0 * (h * f) as f64;
        let whole = self.backward_work(targets, rows);
        Work { products: whole.products - network, ..whole }
    }

    /// All blocks run over a prompt of `n` tokens.
    pub fn bill_of_prompt(&self, n: usize, plan: &Plan) -> Bill {
        let mut bill = Bill::default();
        bill.add(Step::Forward, self.forward_work(n, 0, plan.keeps_insides) * self.config.num_hidden_layers as f64);
        bill
    }

    /// A text scored behind a prompt that was run before.
    pub fn bill_of_scores(&self, lengths: Lengths, ranks: bool, seeds: bool) -> Bill {
        let mut bill = Bill::default();
        // the last token predicts nothing
        let rows = lengths.n_response.saturating_sub(1);
        let forward = self.forward_work(rows, lengths.n_prompt, false);
        bill.add(Step::Forward, forward * self.config.num_hidden_layers as f64);
        bill.add(Step::Head, self.head_work(lengths.n_response, ranks, seeds));
        bill
    }

    /// The gradients of a text's tokens behind its scores, in the sweeps and chunks of `plan`.
    pub fn bill_of_gradients(&self, Lengths { n_prompt, n_response }: Lengths, plan: &Plan) -> Bill {
        let mut bill = Bill::default();
        let others = self.config.num_hidden_layers.saturating_sub(1) as f64;
        let kept = if plan.keeps_insides { n_prompt } else { 0 };
        for first in (0..n_response).step_by(plan.targets_per_sweep.max(1)) {
            let end = (first + plan.targets_per_sweep.max(1)).min(n_response);
            let linearize = self.linearize_work(n_prompt + end - 1, kept, plan);
            bill.add(Step::Linearize, linearize * (others + 1.0));
            for start in (first..end).step_by(plan.targets_per_chunk.max(1)) {
                let targets = plan.targets_per_chunk.max(1).min(end - start);
                let rows = n_prompt + start + targets - 1;
                bill.add(Step::Backward, self.backward_work(targets, rows) * others);
                bill.add(Step::Backward, self.last_backward_work(targets, rows));
            }
        }
        bill
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        language::ModelConfig,
        plan::{Limits, tests::config},
    };
    use candle_core::{DType, Device};

    /// Width 4, 6 hidden units, 2 blocks, 2 query heads over 1 key head of width 2, 10 words.
    fn tiny() -> Footprint {
        let config = config([4, 6, 2, 2, 1, 2, 10], true);
        Footprint::new(&ModelConfig::DecoderOnly(config), DType::F32, &Device::Cpu)
    }

    fn bill(footprint: &Footprint, n_prompt: usize, n_response: usize, gradients: bool) -> Bill {
        let lengths = Lengths { n_prompt, n_response };
        let limits = Limits { max_bytes: None, sharers: 1, threads: 1 };
        let plan = footprint.plan(lengths, gradients, limits).unwrap();
        let mut bill = footprint.bill_of_prompt(n_prompt, &plan);
        bill += footprint.bill_of_scores(lengths, false, gradients);
        if gradients {
            bill += footprint.bill_of_gradients(lengths, &plan);
        }
        bill
    }

    #[test]
    fn operations_are_those_worked_out_by_hand() {
        // a block multiplies by q 4x4, k and v 2x4 each, output 4x4, three of 6x4: 120 parameters
        let bill = bill(&tiny(), 3, 2, true);
        // three rows of prompt and one of text see 1 + 2 + 3 and 4 keys; each pair is two products over queries of width 4
        let forward = bill.of(Step::Forward);
        assert_eq!((forward.products, forward.attention), (2.0 * 4.0 * 2.0 * 120.0, 2.0 * 4.0 * 4.0 * 10.0));
        // two rows of ten logits over four numbers, there and back
        assert_eq!(bill.of(Step::Head).products, 2.0 * 2.0 * 2.0 * 10.0 * 4.0);
        // the prompt's insides are kept: one row of the text is new, and nothing goes out of its hidden units; four rows see ten keys
        let linearize = bill.of(Step::Linearize);
        assert_eq!((linearize.products, linearize.attention), (2.0 * 2.0 * (120.0 - 24.0), 2.0 * 4.0 * 4.0 * 10.0));
        // both targets in one chunk over four rows; in the last block the network has one row a target
        let backward = bill.of(Step::Backward);
        let last = 2.0 * 8.0 * 48.0 + 2.0 * 2.0 * 72.0;
        assert_eq!(backward.products, 2.0 * 8.0 * 120.0 + last);
        assert_eq!(backward.attention, 2.0 * 8.0 * 4.0 * 2.0 * 10.0);
    }

    #[test]
    fn a_window_bounds_what_is_seen() {
        assert_eq!(pairs(3, 2, None), 3.0 + 4.0 + 5.0);
        assert_eq!(pairs(3, 2, Some(4)), 3.0 + 4.0 + 4.0);
        assert_eq!(pairs(3, 2, Some(1)), 3.0);
        assert_eq!(pairs(0, 7, Some(3)), 0.0);
    }

    #[test]
    fn longer_prompts_and_texts_cost_more_at_every_step() {
        let footprint = tiny();
        let of = |n, t| bill(&footprint, n, t, true);
        for (n, t) in [(1, 1), (5, 2), (40, 7), (300, 60), (2000, 5)] {
            for (longer, what) in [(of(n + 1, t), "prompt"), (of(n, t + 1), "text")] {
                for step in Step::ALL {
                    let (short, long) = (of(n, t).of(step), longer.of(step));
                    let all = |work: Work| [work.products, work.attention, work.bytes];
                    for (short, long) in all(short).into_iter().zip(all(long)) {
                        assert!(long >= short, "{step:?} of {n} and {t}, a longer {what}");
                    }
                }
                assert!(longer.operations() > of(n, t).operations());
            }
        }
    }

    #[test]
    fn what_is_kept_for_speed_costs_less() {
        let footprint = tiny();
        let lengths = Lengths { n_prompt: 50, n_response: 9 };
        let plan = footprint.plan(lengths, true, Limits::default()).unwrap();
        assert!(plan.keeps_insides && plan.keeps_transposed == footprint.keeps_transposed(Limits::default()));
        let bare = Plan { keeps_insides: false, keeps_transposed: false, ..plan.clone() };
        let of = |plan: &Plan| footprint.bill_of_gradients(lengths, plan).of(Step::Linearize);
        assert!(of(&bare).products > of(&plan).products && of(&bare).bytes > of(&plan).bytes);
        // more sweeps run the blocks again
        let sweeps = Plan { targets_per_sweep: 3, targets_per_chunk: 3, ..plan.clone() };
        assert!(of(&sweeps).attention > 2.0 * of(&plan).attention);
    }
}
