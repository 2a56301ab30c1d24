//! How much memory a sample takes, and what follows from a bound on it: how many targets go through the blocks together. What a
//! reading costs on paper is in [`work`], how fast this machine does it in [`rates`].
//!
//! The plan is arithmetic over the model's numbers and the sample's lengths. It never asks the machine how much is free,
//! so the same settings give the same plan, and the same bytes, everywhere.

pub mod rates;
pub mod work;

use std::fmt;

use bytesize::ByteSize;
use candle_core::{DType, Device};

use crate::{
    architectures::config::Config,
    decoder::Decoder,
    language::{LanguageModel, ModelConfig},
    ops::{BLOCK_ROWS, Precision, TABLE_ROWS, UNITS},
    past::Keep,
};

/// Rows of gradient that pass through a block at once on a CPU: enough for the matrix products to run at full speed, few
/// enough for the element-wise passes between them to find their operands in cache. Measured on two cores.
const CHUNK_ROWS_CPU: usize = 512;

/// The same for a GPU, which needs many more rows to be busy.
const CHUNK_ROWS_GPU: usize = 16_384;

/// Bytes that one chunk on a GPU may work with where no bound is given. Attention's share grows with the square of the
/// length, so that long samples would otherwise take many times the memory of short ones.
const CHUNK_BYTES_GPU: u64 = 8 << 30;

/// Gradient bytes held at once for all targets where no bound is given. Longer samples go through the blocks in several
/// sweeps, each of which runs the blocks' insides again.
const SWEEP_BYTES: u64 = 256 << 20;

/// The same on a GPU.
const SWEEP_BYTES_GPU: u64 = 4 << 30;

/// What the process needs beside tensors: code, and a tokenizer of some 50,000 words. Measured 80 to 90 MB.
const PROGRAM: u64 = 96 << 20;

/// Response tokens whose logits are held at once: 32 rows of a 152,000-word vocabulary are 19 MB in f32.
pub(crate) const LOGIT_ROWS: usize = 32;

/// Lengths of a sample in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// N, how many tokens the prompt has.
    pub n_prompt: usize,
    /// T, how many tokens the response has, at least 1.
    pub n_response: usize,
}

impl Lengths {
    /// Rows that go through the blocks: the last token predicts nothing.
    fn visible(self) -> usize {
        self.n_prompt + self.n_response.max(1) - 1
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} prompt and {} text tokens", self.n_prompt, self.n_response)
    }
}

/// What a plan has to keep within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes for the whole process, on a GPU for the device; no bound where absent.
    pub max_bytes: Option<u64>,
    /// Samples that run at the same time and share what the weights leave, at least 1.
    pub sharers: usize,
    /// Threads of one sample, at least 1.
    pub threads: usize,
}

impl Default for Limits {
    /// No bound, one sample on all threads of the pool.
    fn default() -> Self {
        Limits { max_bytes: None, sharers: 1, threads: rayon::current_num_threads() }
    }
}

/// The numbers of an architecture that memory follows from. An encoder-decoder counts as one stack of all its blocks over
/// all rows of source and text, each block as large as the decoder's: a little more than it takes.
#[derive(Debug, Clone)]
struct Numbers {
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    head_dim: usize,
    vocab_size: usize,
    is_tied: bool,
    qk_norm: bool,
    is_decoder_only: bool,
    n_block_parameters: usize,
    n_largest_block: usize,
    /// Keys that a query sees at most; all up to its own where absent.
    window: Option<usize>,
}

impl From<&Config> for Numbers {
    fn from(c: &Config) -> Self {
        Numbers {
            hidden_size: c.hidden_size,
            intermediate_size: c.intermediate_size,
            num_hidden_layers: c.num_hidden_layers,
            num_attention_heads: c.num_attention_heads,
            num_key_value_heads: c.num_key_value_heads,
            head_dim: c.head_dim,
            vocab_size: c.vocab_size,
            is_tied: c.tie_word_embeddings,
            qk_norm: c.qk_norm,
            is_decoder_only: true,
            n_block_parameters: c.n_block_parameters(),
            n_largest_block: c.n_block_parameters() / c.num_hidden_layers.max(1),
            window: c.sliding_window,
        }
    }
}

impl From<&ModelConfig> for Numbers {
    fn from(config: &ModelConfig) -> Self {
        match config {
            ModelConfig::DecoderOnly(c) => c.into(),
            ModelConfig::EncoderDecoder(c) => Numbers {
                hidden_size: c.d_model,
                intermediate_size: c.d_ff,
                num_hidden_layers: config.n_layers(),
                num_attention_heads: c.num_heads,
                num_key_value_heads: c.num_heads,
                head_dim: c.d_kv,
                vocab_size: c.vocab_size,
                is_tied: c.tie_word_embeddings,
                qk_norm: false,
                is_decoder_only: false,
                n_block_parameters: config.n_block_parameters(),
                n_largest_block: c.n_block_parameters().1,
                window: None,
            },
        }
    }
}

/// The numbers of a loaded model that memory follows from.
#[derive(Debug, Clone)]
pub struct Footprint {
    config: Numbers,
    /// What tensors are held in.
    dtype: DType,
    precision: Precision,
    on_gpu: bool,
}

/// The bytes that a plan sets aside for one purpose.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Allocation {
    /// What the bytes hold, as a message names it.
    pub what: &'static str,
    /// How many, at the moment when all parts together are most.
    pub bytes: u64,
}

/// The parts that are there once, however many samples run side by side.
const SHARED: [&str; 3] = ["weights", "program", "transposed weights"];

/// Most bytes of transposed weights that are kept where no bound is given. Packing them anew takes as long as one or two
/// targets, which short samples notice, most of all where products are fast: the default model in bf16 is within it.
const KEPT_TRANSPOSED: u64 = 256 << 20;

/// Most bytes of a prompt's rows inside the blocks that are kept where no bound is given, for one sample and for all that run
/// side by side. Working them out anew takes as long as a target, or nearly.
const KEPT_INSIDES: u64 = 256 << 20;
const KEPT_INSIDES_OF_ALL: u64 = 1 << 30;

/// What one sample takes, and how its targets are divided.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Plan {
    /// Targets whose gradients pass through a block together; 0, as the next two, where there are no gradients.
    pub targets_per_chunk: usize,
    /// Targets whose gradients are held together; each sweep runs the blocks' insides once more.
    pub targets_per_sweep: usize,
    /// Chunks that pass through a block at the same time, each on a thread of its own.
    pub chunks_in_flight: usize,
    /// Whether the transposed weights that gradients need are packed once for all samples.
    pub keeps_transposed: bool,
    /// Whether a prompt's rows inside the blocks are kept between the forward pass and the gradients.
    pub keeps_insides: bool,
    /// Where the bytes go; the largest moment of the whole sample.
    pub parts: Vec<Allocation>,
}

impl Plan {
    /// The most bytes in use at once.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// What a run of the prompt has to keep.
    pub fn keep(&self) -> Keep {
        match (self.targets_per_sweep, self.keeps_insides) {
            (0, _) => Keep::KeysValues,
            (_, false) => Keep::LayerInputs,
            (_, true) => Keep::Insides,
        }
    }

    /// The most bytes in use at once where `n` such samples run side by side.
    pub fn bytes_of(&self, n: usize) -> u64 {
        let shared: u64 = self.parts.iter().filter(|part| SHARED.contains(&part.what)).map(|part| part.bytes).sum();
        shared + n as u64 * (self.bytes() - shared)
    }

    /// The largest part that can be made smaller: the program cannot.
    fn largest(&self) -> &Allocation {
        let parts = self.parts.iter().filter(|part| part.what != SHARED[1]);
        parts.max_by_key(|part| part.bytes).expect("a plan has a part for the weights")
    }
}

impl Footprint {
    /// The footprint of a loaded model.
    pub fn of(model: &LanguageModel) -> Self {
        Footprint {
            config: (&model.config()).into(),
            dtype: model.dtype(),
            precision: model.precision(),
            on_gpu: !model.device().is_cpu(),
        }
    }

    /// The footprint of a loaded decoder-only model.
    pub fn of_decoder(decoder: &Decoder) -> Self {
        Footprint {
            config: decoder.config().into(),
            dtype: decoder.dtype(),
            precision: decoder.precision(),
            on_gpu: !decoder.device().is_cpu(),
        }
    }

    /// The footprint of a model that need not be loaded, in a dtype as a user asks for it.
    pub fn new(config: &ModelConfig, dtype: DType, device: &Device) -> Self {
        let (dtype, precision) = Precision::of(dtype, device);
        Footprint { config: config.into(), dtype, precision, on_gpu: !device.is_cpu() }
    }

    /// Bytes of the weights. A table that is looked up but not multiplied by keeps the tensors' dtype.
    pub fn weights(&self) -> u64 {
        let c = &self.config;
        let table = (c.vocab_size * c.hidden_size) as u64;
        let looked_up = if c.is_tied { 0 } else { table * self.element() };
        (c.n_block_parameters as u64 + table) * self.weight() + looked_up
    }

    /// Bytes of a weight that is multiplied by.
    fn weight(&self) -> u64 {
        match self.precision {
            Precision::Full | Precision::Rounded => self.element(),
            Precision::Bf16 => 2,
        }
    }

    /// The kernels of our own work tile by tile; compositions of candle's operations hold whole `[s, s]` tensors of the
    /// query heads that share a key head.
    fn composed(&self) -> bool {
        self.on_gpu || !matches!(self.dtype, DType::F32 | DType::F64)
    }

    /// Numbers of a row: hidden, feed-forward, heads' outputs, queries with keys and values, keys with values.
    fn widths(&self) -> (u64, u64, u64, u64, u64) {
        let c = &self.config;
        let (o, kv) = (c.num_attention_heads * c.head_dim, 2 * c.num_key_value_heads * c.head_dim);
        (c.hidden_size as u64, c.intermediate_size as u64, o as u64, (o + kv) as u64, kv as u64)
    }

    fn element(&self) -> u64 {
        self.dtype.size_in_bytes() as u64
    }

    /// Bytes of a number in the norms and softmaxes of the compositions, which are worked out in f32, or f64 for f64.
    fn wide(&self) -> u64 {
        self.element().max(4)
    }

    /// Query heads that share a key head; compositions take them through attention together, one key head at a time.
    fn group(&self) -> u64 {
        (self.config.num_attention_heads / self.config.num_key_value_heads.max(1)) as u64
    }

    /// Bytes of attention over `queries` rows that see `keys` each, beside its inputs and outputs.
    fn attention(&self, queries: u64, keys: u64) -> u64 {
        let heads = self.config.num_attention_heads as u64;
        if self.composed() {
            let (_, _, o, _, kv) = self.widths();
            // scores and probabilities, between them two copies in f32; the mask
            let scores =
                self.group() * queries * keys * 2 * (self.element() + self.wide()) + 2 * keys * keys * self.wide();
            // the heads' outputs one by one before they are put together, queries by head; past and own keys and values
            scores + (3 * queries * o + 2 * keys * kv) * self.element()
        } else {
            // tiles of 64 queries, the keys packed anew
            64 * keys * self.element() * heads.min(16) + keys * self.widths().4 * self.element()
        }
    }

    /// Bytes that short-lived buffers of `bytes` take. The CPU's allocator keeps freed ones of up to 32 MB for the next,
    /// which is seldom of the same size: a half more was measured.
    fn with_slack(&self, bytes: u64) -> u64 {
        if self.on_gpu { bytes } else { bytes + bytes / 2 }
    }

    /// Bytes of one pass of `rows` rows through a block that keeps nothing, with attention to `keys` rows.
    fn forward(&self, rows: u64, keys: u64) -> u64 {
        let (h, f, o, w, _) = self.widths();
        // gate with its activation; rotated heads before they are put beside the values; f32 copies in the heads' norms
        let head_norms = if self.config.qk_norm { 3 * w * self.wide() } else { 0 };
        let copies = if self.composed() { (f + 2 * w) * self.element() + head_norms } else { 0 };
        self.with_slack(rows * ((4 * h + 2 * w + o + 3 * f) * self.element() + copies)) + self.attention(rows, keys)
    }

    /// Bytes of the blocks' transposed weights where they are kept: without a bound, on a CPU, if they are not large.
    fn kept_transposed(&self, gradients: bool, limits: Limits) -> Option<u64> {
        let bytes = self.config.n_block_parameters as u64 * self.weight();
        (gradients && limits.max_bytes.is_none() && !self.composed() && bytes <= KEPT_TRANSPOSED).then_some(bytes)
    }

    /// Bytes of the prompt's rows inside the blocks where they are kept: without a bound, on a CPU, if they are not many.
    fn kept_insides(&self, n_prompt: u64, gradients: bool, limits: Limits) -> Option<u64> {
        let (h, f, _, w, _) = self.widths();
        let unnormed = if self.config.qk_norm { w } else { 0 };
        let layers = self.config.num_hidden_layers as u64;
        let bytes = layers * n_prompt * (w + unnormed + h + 2 * f) * self.element();
        let there_is_room =
            bytes <= KEPT_INSIDES && bytes.saturating_mul(limits.sharers.max(1) as u64) <= KEPT_INSIDES_OF_ALL;
        let wanted = gradients && self.config.is_decoder_only && limits.max_bytes.is_none() && !self.composed();
        (wanted && there_is_room).then_some(bytes)
    }

    /// Whether the transposed weights are kept for all samples with gradients.
    pub fn keeps_transposed(&self, limits: Limits) -> bool {
        self.kept_transposed(true, limits).is_some()
    }

    /// Bytes that one linearised block keeps for `s` rows: numbers, and the block's weights packed for gradients.
    fn linearized(&self, s: u64) -> u64 {
        let (h, f, o, w, kv) = self.widths();
        let heads = self.config.num_attention_heads as u64;
        let unnormed = if self.config.qk_norm { w } else { 0 };
        let numbers = s * (3 * h + w + unnormed + o + 2 * f) * self.element();
        if self.composed() {
            return numbers + heads * s * s * self.element();
        }
        let weights = self.config.n_largest_block as u64 * self.weight();
        numbers + weights + (heads * s * s + s * kv / 2) * self.weight()
    }

    /// Bytes in use only while a block is linearised at `s` rows.
    fn linearizing(&self, s: u64) -> u64 {
        let (h, f, o, _, _) = self.widths();
        let e = self.element();
        let (mut attention, mut derivatives) = (self.attention(s, s), self.with_slack(s * (2 * f + 2 * h) * e));
        if self.composed() {
            // every head's probabilities, put together; the derivatives' terms in f32
            attention = attention.max(self.config.num_attention_heads as u64 * s * s * e);
            derivatives += 7 * s * f * self.wide();
        }
        if self.precision != Precision::Full {
            // probabilities before they are rounded
            attention += (self.config.num_attention_heads as u64).min(16) * s * s * e;
        }
        derivatives.max(attention + s * o * e)
    }

    /// Bytes that a chunk of `targets` targets over `s` rows works with inside a block.
    fn chunk(&self, targets: u64, s: u64) -> u64 {
        let (h, f, o, w, _) = self.widths();
        let e = self.element();
        let head_norms = if self.config.qk_norm { w } else { 0 };
        let rows = targets * s;
        if self.composed() {
            // gradients at the block's three places and in between are alive throughout; beside them the largest of: hidden
            // units before and after their derivatives; one key head of attention, with three f32 copies of its scores;
            // what attention gave and its rotation, and then f32 copies inside a norm
            let through = 4 * h * e;
            let mlp = (2 * f + h) * e;
            let scores = self.group() * s * (3 * self.wide() + 2 * e);
            let attention = (o + 2 * w + 4 * self.group() * self.config.head_dim as u64) * e + scores;
            let behind = (o + 4 * w) * e + 4 * h.max(head_norms) * self.wide();
            let shared = self.group() * s * s * (self.wide() + e);
            rows * (through + mlp.max(attention).max(behind)) + shared
        } else {
            // the feed-forward goes through in tiles; attention in tiles of 64 queries
            let row = (5 * h + 2 * o + 2 * w + head_norms) * e;
            self.with_slack(rows * row) + 128 * s * e + BLOCK_ROWS as u64 * (2 * UNITS as u64 + h) * e
        }
    }

    /// Bytes of the keys and values, and with gradients of the blocks' inputs, that the whole of a sample keeps.
    fn kept(&self, lengths: Lengths, gradients: bool) -> u64 {
        let (h, _, _, _, kv) = self.widths();
        let (layers, n, s) = (self.config.num_hidden_layers as u64, lengths.n_prompt as u64, lengths.visible() as u64);
        let inputs = if gradients { layers * s * h } else { 0 };
        (layers * n * kv + inputs + 2 * s * h) * self.element()
    }

    /// Bytes of the keys and values of a prompt that is kept beside the sample's own.
    pub fn kept_prompt(&self, n_prompt: usize) -> u64 {
        self.kept(Lengths { n_prompt, n_response: 1 }, false)
    }

    fn logits(&self, gradients: bool) -> u64 {
        let rows = (LOGIT_ROWS * self.config.vocab_size) as u64;
        // logits, their copy on the host in f32 (f64 for f64), and their gradient
        let packed = (TABLE_ROWS * self.config.hidden_size) as u64 * self.weight();
        rows * (self.element() + self.element().max(4)) + if gradients { rows * self.element() + packed } else { 0 }
    }

    /// The plan of a sample: with `gradients` for attribution, without for the scores of its tokens alone.
    ///
    /// Chunks and sweeps are as large as their measured defaults where the bound allows. If it does not, first fewer
    /// targets are held together, then fewer chunks pass at a time, then chunks hold fewer targets.
    ///
    /// # Errors
    /// [`PlanError::TooSmall`] if the bound does not allow one target at a time.
    pub fn plan(&self, lengths: Lengths, gradients: bool, limits: Limits) -> Result<Plan, PlanError> {
        let s = lengths.visible() as u64;
        let n_targets = lengths.n_response.max(1);
        let default_rows = if self.on_gpu { CHUNK_ROWS_GPU } else { CHUNK_ROWS_CPU };
        let default_sweep = if self.on_gpu { SWEEP_BYTES_GPU } else { SWEEP_BYTES };
        let target_bytes = s * self.widths().0 * self.element();
        let mut per_chunk = if gradients { (default_rows as u64 / s).max(1).min(n_targets as u64) as usize } else { 1 };
        while self.on_gpu && per_chunk > 1 && self.chunk(per_chunk as u64, s) > CHUNK_BYTES_GPU {
            per_chunk -= 1;
        }
        let mut per_sweep = if gradients { ((default_sweep / target_bytes).max(1) as usize).min(n_targets) } else { 1 };
        per_chunk = per_chunk.min(per_sweep);
        let one_by_one = self.on_gpu || !gradients;
        let in_flight_of = |per_sweep: usize, per_chunk: usize| {
            if one_by_one { 1 } else { limits.threads.max(1).min(per_sweep.div_ceil(per_chunk)) }
        };
        let mut in_flight = in_flight_of(per_sweep, per_chunk);

        let mut plan = self.with(lengths, gradients, limits, (per_chunk, per_sweep, in_flight));
        let Some(max) = limits.max_bytes else { return Ok(plan) };
        loop {
            // what one sample may have: the weights are there once, the rest is shared
            let shared = self.weights() + PROGRAM;
            let allowed = shared + max.saturating_sub(shared) / limits.sharers.max(1) as u64;
            let bytes = plan.bytes();
            if bytes <= allowed {
                return Ok(plan);
            }
            let excess = (bytes - allowed).div_ceil(target_bytes) as usize;
            let fewest = in_flight * per_chunk;
            if per_sweep > fewest {
                per_sweep = per_sweep.saturating_sub(excess).max(fewest);
            } else if in_flight > 1 {
                in_flight -= 1;
                per_sweep = in_flight * per_chunk;
            } else if per_chunk > 1 {
                per_chunk -= 1;
                per_sweep = per_chunk;
            } else {
                let (largest, needed) = (plan.largest().clone(), plan.bytes());
                return Err(PlanError::TooSmall { max, needed, largest, lengths });
            }
            plan = self.with(lengths, gradients, limits, (per_chunk, per_sweep, in_flight));
        }
    }

    /// A plan with these targets per chunk and sweep, and chunks in flight.
    fn with(&self, lengths: Lengths, gradients: bool, limits: Limits, sizes: (usize, usize, usize)) -> Plan {
        let (per_chunk, per_sweep, in_flight) = sizes;
        let (s, n, t) = (lengths.visible() as u64, lengths.n_prompt as u64, lengths.n_response as u64);
        let gradient = s * self.widths().0 * self.element();
        let forward = self.forward(n, n).max(self.forward(t, s)).max(self.logits(gradients));
        let mut parts = vec![
            Allocation { what: SHARED[0], bytes: self.weights() },
            Allocation { what: SHARED[1], bytes: PROGRAM },
            Allocation { what: "keys, values and layer inputs", bytes: self.kept(lengths, gradients) },
        ];
        let kept_transposed = self.kept_transposed(gradients, limits);
        parts.extend(kept_transposed.map(|bytes| Allocation { what: SHARED[2], bytes }));
        let kept_insides = self.kept_insides(n, gradients, limits);
        parts.extend(kept_insides.map(|bytes| Allocation { what: "insides of the blocks", bytes }));
        // Three moments: the forward pass; a layer is linearised; chunks pass through it. The last two hold the gradients.
        let gradients_held = per_sweep as u64 * gradient;
        let chunks = in_flight as u64 * self.chunk(per_chunk as u64, s);
        let (layer, linearizing) = (self.linearized(s), self.linearizing(s));
        if gradients && gradients_held + layer + linearizing.max(chunks) > forward {
            parts.push(Allocation { what: "one linearised layer", bytes: layer });
            parts.push(Allocation { what: "gradients of a sweep", bytes: gradients_held });
            // while a layer is linearised no chunk is under way
            parts.push(Allocation { what: "chunks in flight", bytes: chunks.max(linearizing) });
            parts.push(Allocation { what: "results", bytes: 48 * s * t });
        } else {
            parts.push(Allocation { what: "forward pass", bytes: forward });
        }
        let of_gradients = |n: usize| if gradients { n } else { 0 };
        Plan {
            targets_per_chunk: of_gradients(per_chunk),
            targets_per_sweep: of_gradients(per_sweep),
            chunks_in_flight: of_gradients(in_flight),
            keeps_transposed: kept_transposed.is_some(),
            keeps_insides: kept_insides.is_some(),
            parts,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&size(self.bytes()))?;
        if self.targets_per_sweep > 0 {
            let (sweep, chunk) = (self.targets_per_sweep, self.targets_per_chunk);
            let (s, c) = (if sweep == 1 { "" } else { "s" }, if chunk == 1 { "" } else { "s" });
            write!(f, " ({sweep} target{s} a sweep, {} x {chunk} target{c} at a time)", self.chunks_in_flight)?;
        }
        Ok(())
    }
}

/// Why a sample has no plan, or a text is no size.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The bound does not allow even one target at a time.
    #[error(
        "{lengths} need {} of memory one target at a time, and {} are allowed; the largest part is the {} with {}",
        size(*needed), size(*max), largest.what, size(largest.bytes)
    )]
    TooSmall {
        /// How many bytes are allowed.
        max: u64,
        /// How many bytes the smallest plan needs.
        needed: u64,
        /// The largest allocation of that plan that can be made smaller.
        largest: Allocation,
        /// The lengths of the sample that was planned for.
        lengths: Lengths,
    },
    /// A text that is no amount of memory.
    #[error("`{text}` is no amount of memory")]
    Size {
        /// The text as it was given.
        text: String,
    },
}

impl veridiff_text::hint::Hint for PlanError {
    fn hint(&self) -> Option<String> {
        PlanError::hint(self)
    }
}

impl PlanError {
    /// How the plan can be made to fit, if there is a way.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            PlanError::TooSmall { largest, needed, .. } => {
                let smaller = if largest.what == SHARED[0] {
                    "a smaller model or dtype (--dtype bf16)"
                } else {
                    "shorter samples (--max-tokens) or a smaller dtype (--dtype bf16)"
                };
                format!("allow more (--max-memory {}), or choose {smaller}", size(*needed))
            }
            PlanError::Size { .. } => "a number and a unit: 2GB, 1500MiB, 800MB".into(),
        })
    }
}

/// Bytes as a person writes them, rounded up so that what is printed suffices: `1.84 GB`, `312 MB`.
pub fn size(bytes: u64) -> String {
    if bytes >= 1_000_000_000 {
        format!("{:.2}GB", bytes.div_ceil(10_000_000) as f64 / 100.0)
    } else if bytes >= 1_000_000 {
        format!("{}MB", bytes.div_ceil(1_000_000))
    } else {
        format!("{}KB", bytes.div_ceil(1_000))
    }
}

/// Reads `2GB`, `1500MiB`, `1.5 GiB`, `800M` or a plain number of bytes. Units with an `i` count in 1024s.
///
/// # Errors
/// [`PlanError::Size`] for what is no size, and for less than one byte.
pub fn parse_size(text: &str) -> Result<u64, PlanError> {
    match text.trim().parse::<ByteSize>() {
        Ok(ByteSize(bytes)) if bytes >= 1 => Ok(bytes),
        _ => Err(PlanError::Size { text: text.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architectures::config::{Architecture, Rope, RopeScaling};

    pub(super) fn config(sizes: [usize; 7], tied: bool) -> Config {
        let [hidden_size, intermediate_size, num_hidden_layers, n_heads, n_kv_heads, head_dim, vocab_size] = sizes;
        Config {
            architecture: Architecture::Llama,
            hidden_size,
            intermediate_size,
            num_hidden_layers,
            num_attention_heads: n_heads,
            num_key_value_heads: n_kv_heads,
            head_dim,
            rms_norm_eps: 1e-5,
            vocab_size,
            max_position_embeddings: 8192,
            rope: Rope { theta: 1e5, scaling: RopeScaling::None },
            tie_word_embeddings: tied,
            qkv_bias: false,
            o_bias: false,
            mlp_bias: false,
            qk_norm: false,
            sliding_window: None,
        }
    }

    fn smollm2() -> Footprint {
        let config = config([576, 1536, 30, 9, 3, 64, 49_152], true);
        Footprint::new(&ModelConfig::DecoderOnly(config), DType::F32, &Device::Cpu)
    }

    /// Llama-3.1-8B in bf16 on a GPU, which need not be here.
    fn llama_8b() -> Footprint {
        let config = config([4096, 14_336, 32, 32, 8, 128, 128_256], false);
        Footprint { config: (&config).into(), dtype: DType::BF16, precision: Precision::Full, on_gpu: true }
    }

    fn two_threads(max_bytes: Option<u64>) -> Limits {
        Limits { max_bytes, sharers: 1, threads: 2 }
    }

    #[test]
    fn weights_are_those_of_the_checkpoints() {
        // 134.5 M parameters, of which norms are 35 thousand; 8.03 G
        assert_eq!(smollm2().weights() / 4, 134_479_872);
        assert_eq!(llama_8b().weights() / 2, 8_029_995_008);
    }

    #[test]
    fn a_long_diff_stays_under_two_gigabytes() {
        let long = Lengths { n_prompt: 2500, n_response: 60 };
        let plan = smollm2().plan(long, true, two_threads(None)).unwrap();
        assert!(plan.bytes() < 2_000_000_000, "{plan}: {plan:?}");
        assert_eq!((plan.targets_per_chunk, plan.chunks_in_flight), (1, 2));
    }

    #[test]
    fn the_8b_shape_fits_on_one_card() {
        for (n_prompt, n_response) in [(1024, 64), (4096, 128)] {
            for max_bytes in [None, Some(80_000_000_000)] {
                let lengths = Lengths { n_prompt, n_response };
                let plan = llama_8b().plan(lengths, true, two_threads(max_bytes)).unwrap();
                assert!(plan.bytes() <= 80_000_000_000, "{plan}: {plan:?}");
                assert_eq!(plan.chunks_in_flight, 1);
                assert!(plan.targets_per_sweep >= n_response.min(64), "{plan}");
                // enough rows to keep the card busy
                assert!(plan.targets_per_chunk * n_prompt >= 4096, "{plan}");
            }
        }
    }

    #[test]
    fn typical_samples_keep_the_measured_sizes() {
        let typical = Lengths { n_prompt: 238, n_response: 43 };
        let plan = smollm2().plan(typical, true, two_threads(None)).unwrap();
        assert_eq!((plan.targets_per_chunk, plan.targets_per_sweep, plan.chunks_in_flight), (1, 43, 2));
        // an ample bound changes no size, but nothing is kept only for speed
        let bounded = smollm2().plan(typical, true, two_threads(Some(4 << 30))).unwrap();
        assert_eq!((bounded.targets_per_chunk, bounded.targets_per_sweep, bounded.chunks_in_flight), (1, 43, 2));
        assert!(plan.keeps_insides && plan.keep() == Keep::Insides && bounded.keep() == Keep::LayerInputs);
        // nor where many samples together would keep too much, nor a long prompt
        let many = Limits { sharers: 16, ..two_threads(None) };
        assert!(!smollm2().plan(typical, true, many).unwrap().keeps_insides);
        let long = Lengths { n_prompt: 1000, n_response: 43 };
        assert!(!smollm2().plan(long, true, two_threads(None)).unwrap().keeps_insides);
        assert_eq!(smollm2().plan(typical, false, two_threads(None)).unwrap().keep(), Keep::KeysValues);
        // with products in bf16 the transposed weights are small enough to keep, unless memory is bounded
        let bf16 = Footprint { precision: Precision::Bf16, ..smollm2() };
        assert!(!plan.keeps_transposed && bf16.plan(typical, true, two_threads(None)).unwrap().keeps_transposed);
        assert!(!bf16.plan(typical, true, two_threads(Some(4 << 30))).unwrap().keeps_transposed);
        let short = Lengths { n_prompt: 50, n_response: 20 };
        assert_eq!(smollm2().plan(short, true, two_threads(None)).unwrap().targets_per_chunk, 512 / 69);
    }

    /// Every bound from ample to hopeless: what is planned keeps within it, and the first that is refused is the smallest need.
    #[test]
    fn plans_shrink_with_the_bound_until_one_target_is_left() {
        for lengths in [Lengths { n_prompt: 60, n_response: 40 }, Lengths { n_prompt: 2500, n_response: 60 }] {
            let mut max = 3_000_000_000;
            let mut last = usize::MAX;
            let needed = loop {
                match smollm2().plan(lengths, true, two_threads(Some(max))) {
                    Ok(plan) => {
                        assert!(plan.bytes() <= max, "{plan} for {max}");
                        assert!(plan.targets_per_sweep <= last, "{plan}");
                        assert!(plan.targets_per_sweep >= plan.chunks_in_flight * plan.targets_per_chunk, "{plan:?}");
                        last = plan.targets_per_sweep;
                        max = plan.bytes() - 1;
                    }
                    Err(PlanError::TooSmall { max: told, needed, .. }) => {
                        assert_eq!(told, max);
                        break needed;
                    }
                    Err(error) => panic!("{error}"),
                }
            };
            assert_eq!(needed, max + 1);
            // the short one's forward pass, with its logits, is more than its last few targets; a chunk of it has 5
            assert!(last <= if lengths.n_prompt < 100 { 4 } else { 1 }, "{last} targets in the smallest plan");
        }
    }

    #[test]
    fn a_bound_below_the_weights_names_them() {
        let lengths = Lengths { n_prompt: 10, n_response: 5 };
        let error = smollm2().plan(lengths, false, two_threads(Some(300_000_000))).unwrap_err();
        let PlanError::TooSmall { largest, .. } = &error else { panic!("{error}") };
        assert_eq!((largest.what, largest.bytes), ("weights", 537_919_488));
        assert!(error.to_string().contains("300MB are allowed"), "{error}");
        assert!(error.hint().unwrap().contains("--dtype bf16"), "{:?}", error.hint());
    }

    #[test]
    fn samples_side_by_side_share_what_the_weights_leave() {
        let lengths = Lengths { n_prompt: 1000, n_response: 50 };
        let alone = smollm2().plan(lengths, false, two_threads(None)).unwrap();
        let share = |n: usize, max| Limits { max_bytes: Some(max), sharers: n, ..two_threads(None) };
        let four = alone.bytes_of(4);
        assert!(smollm2().plan(lengths, false, share(4, four)).is_ok());
        assert!(smollm2().plan(lengths, false, share(4, four - 8)).is_err());
        assert!(smollm2().plan(lengths, false, share(3, four - 8)).is_ok());
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("2GB", 2_000_000_000),
            ("1500MiB", 1500 << 20),
            ("1.5 GiB", 3 << 29),
            ("800m", 800_000_000),
            (" 4096 ", 4096),
            ("3KiB", 3072),
            ("512MB", 512_000_000),
            ("7b", 7),
            ("1T", 1_000_000_000_000),
            ("1tib", 1 << 40),
        ] {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "GB", "2 XB", "-1GB", "0", "1e400GB", "..", "2GB!"] {
            assert!(matches!(parse_size(text), Err(PlanError::Size { .. })), "{text}");
        }
        assert_eq!([size(999_000_001), size(1_840_000_001), size(5)], ["1000MB", "1.85GB", "1KB"]);
    }
}
