//! A low-rank adapter with a head: what is added to a model's weights so that it answers one question, and what reads the answer.
//!
//! It is one safetensors file. For a weight `NAME` `[out, in]` it has `NAME` without its `.weight` and with `.lora_A.weight` `[r, in]`
//! and `.lora_B.weight` `[out, r]` behind; what is added to the weight is B A (Hu et al. 2021, arXiv:2106.09685, equation 3, the
//! scale multiplied into B). `head.weight` `[H]` and `head.bias` `[1]` turn a state into log-odds. The header's metadata say what
//! the model read when it was trained: `template`, a prompt with `{diff}` or, for its changed lines and what touches them, `{changes}`,
//! and `end`, the token behind the text at which it answers.

use std::{
    collections::BTreeMap,
    fmt,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use candle_core::{DType, Device, Shape, Tensor, safetensors::load_buffer};
use candle_nn::{Init, VarBuilder, var_builder::SimpleBackend};
use rayon::prelude::*;
use safetensors::SafeTensors;
use sha2::{Digest, Sha256};

use super::{hash::hex, weights::first_non_finite};
use crate::{ModelError, ops::vectorised};

/// The adapters that ship, by name. Each is for one model, which its card in docs/adapter.md names.
const SHIPPED: &[(&str, &[u8])] = &[
    ("truth", include_bytes!("../../../../adapters/truth.safetensors")),
    ("deep", include_bytes!("../../../../adapters/deep.safetensors")),
];

const A: &str = ".lora_A.weight";
const B: &str = ".lora_B.weight";

/// An adapter that was read from its file.
#[derive(Clone)]
pub struct Adapter {
    path: PathBuf,
    /// By the name of the weight that they change.
    low_rank: BTreeMap<String, Arc<LowRank>>,
    /// The head's weight `[H]`.
    head: Vec<f64>,
    bias: f64,
    template: String,
    end: u32,
    fingerprint: String,
}

/// What is added to one weight, B A.
#[derive(Debug, Clone)]
pub(crate) struct LowRank {
    /// A `[r, in]`, row by row.
    a: Vec<f32>,
    /// B `[out, r]`, row by row.
    b: Vec<f32>,
    rank: usize,
    outputs: usize,
    inputs: usize,
}

impl LowRank {
    /// Rows and columns of the weight that it is for.
    pub(crate) fn dims(&self) -> (usize, usize) {
        (self.outputs, self.inputs)
    }

    /// Adds some numbers of a row to `out`.
    pub(crate) fn add_to(&self, row: usize, columns: Range<usize>, out: &mut [f32]) {
        let of_row = &self.b[row * self.rank..][..self.rank];
        vectorised(
            #[inline(always)]
            || {
                for (b, a) in of_row.iter().zip(self.a.chunks_exact(self.inputs.max(1))) {
                    out.iter_mut().zip(&a[columns.clone()]).for_each(|(out, a)| *out += b * a);
                }
            },
        );
    }
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Adapter { path, low_rank, end, fingerprint, .. } = self;
        let n_weights = low_rank.len();
        f.debug_struct("Adapter")
            .field("path", path)
            .field("n_weights", &n_weights)
            .field("end", end)
            .field("fingerprint", fingerprint)
            .finish_non_exhaustive()
    }
}

impl Adapter {
    /// Reads an adapter's file.
    ///
    /// # Errors
    /// [`ModelError::Read`]; [`ModelError::Safetensors`] for a file that is none; [`ModelError::NonFinite`]; [`ModelError::Adapter`] if
    /// half of a pair or the head is missing, shapes contradict each other, or the metadata do not say what was read.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        Adapter::read(path, &std::fs::read(path).map_err(ModelError::read(path))?)
    }

    /// One that ships, or one's own by its path.
    ///
    /// # Errors
    /// As [`Adapter::open`].
    pub fn named(name: &str) -> Result<Self, ModelError> {
        match shipped(name) {
            Some(bytes) => Adapter::read(Path::new(name), bytes),
            None => Adapter::open(Path::new(name)),
        }
    }

    fn read(path: &Path, bytes: &[u8]) -> Result<Self, ModelError> {
        let broken = |problem: String| ModelError::Safetensors { path: path.into(), problem };
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| broken(error.to_string()))?;
        let tensors = load_buffer(bytes, &Device::Cpu).map_err(|error| broken(error.to_string()))?;
        let fault = |problem: String| ModelError::Adapter { path: path.into(), problem };
        let said = |key: &str| {
            let value = header.metadata().as_ref().and_then(|map| map.get(key));
            value.cloned().ok_or_else(|| fault(format!("its metadata have no `{key}`")))
        };
        let (template, end) = (said("template")?, said("end")?);
        let end = end.parse().map_err(|_| fault(format!("`end` is `{}`, no token's number", end.escape_debug())))?;
        let read = |name: &str| {
            let stored = tensors.get(name).ok_or_else(|| fault(format!("tensor `{name}` is missing")))?;
            let tensor = stored.to_dtype(DType::F32)?;
            match first_non_finite(&tensor)? {
                None => Ok(tensor),
                Some((index, value)) => {
                    let (name, path) = (name.to_owned(), path.into());
                    Err(ModelError::NonFinite { name, path, dtype: DType::F32.as_str(), index, value })
                }
            }
        };
        let head: Vec<f64> = numbers(&read("head.weight")?)?;
        let [bias] = numbers(&read("head.bias")?)?[..] else {
            return Err(fault("`head.bias` is not one number".to_owned()));
        };
        let mut low_rank = BTreeMap::new();
        for name in tensors.keys() {
            if name == "head.weight" || name == "head.bias" {
                continue;
            }
            let Some(weight) = name.strip_suffix(A).or_else(|| name.strip_suffix(B)) else {
                return Err(fault(format!("tensor `{}` is no part of an adapter", name.escape_debug())));
            };
            if low_rank.contains_key(&format!("{weight}.weight")) {
                continue;
            }
            let (a, b) = (read(&format!("{weight}{A}"))?, read(&format!("{weight}{B}"))?);
            let (rank, inputs, outputs) = match (a.dims(), b.dims()) {
                (&[r, inputs], &[outputs, rank]) if r == rank => (rank, inputs, outputs),
                (a, b) => return Err(fault(format!("`{weight}` has A {a:?} and B {b:?}, which cannot be multiplied"))),
            };
            let (a, b) = (a.flatten_all()?.to_vec1()?, b.flatten_all()?.to_vec1()?);
            low_rank.insert(format!("{weight}.weight"), Arc::new(LowRank { a, b, rank, outputs, inputs }));
        }
        let fingerprint = fingerprint_of(bytes);
        Ok(Adapter { path: path.into(), low_rank, head, bias, template, end, fingerprint })
    }

    /// The file that it was read from, or the name by which it ships.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The prompt that it was trained with: text with one `{diff}` or `{changes}`.
    pub fn template(&self) -> &str {
        &self.template
    }

    /// The token behind the text at which the head reads.
    pub fn end(&self) -> u32 {
        self.end
    }

    /// The sha256 of its file, in hexadecimal.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// What is added to the weight of this name, if anything is.
    pub(crate) fn addition(&self, name: &str) -> Option<Arc<LowRank>> {
        self.low_rank.get(name).cloned()
    }

    /// The log-odds that the head gives for a state `[H]`, which went through the final norm.
    pub(crate) fn log_odds(&self, normed: &[f64]) -> f64 {
        self.bias + self.head.iter().zip(normed).map(|(weight, value)| weight * value).sum::<f64>()
    }

    /// Weights with what the adapter adds to them, worked out in f32 and rounded once, each as a whole where it is asked for. They must be those of a model of width
    /// `hidden_size`.
    ///
    /// # Errors
    /// [`ModelError::Adapter`] if the adapter is for another model: it changes a weight that is not there, or the head has another
    /// width. That a weight has another shape is found when it is read.
    pub fn onto(
        self: &Arc<Self>,
        weights: VarBuilder<'static>,
        hidden_size: usize,
    ) -> Result<VarBuilder<'static>, ModelError> {
        let fault = |problem: String| ModelError::Adapter { path: self.path.clone(), problem };
        if self.head.len() != hidden_size {
            let width = self.head.len();
            return Err(fault(format!("it is for a model of width {width}, this one's is {hidden_size}")));
        }
        if let Some(name) = self.low_rank.keys().find(|name| !weights.contains_tensor(name)) {
            return Err(fault(format!("it changes `{}`, which the model does not have", name.escape_debug())));
        }
        let (dtype, device) = (weights.dtype(), weights.device().clone());
        let adapted = Adapted { weights, adapter: Arc::clone(self) };
        Ok(VarBuilder::from_backend(Box::new(adapted), dtype, device))
    }
}

fn shipped(name: &str) -> Option<&'static [u8]> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|&(_, bytes)| bytes)
}

/// The names of the adapters that ship.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

/// Whether `name` is that of an adapter that ships.
pub fn ships(name: &str) -> bool {
    shipped(name).is_some()
}

/// The name of the adapter that ships and has this [`Adapter::fingerprint`].
pub fn shipped_as(fingerprint: &str) -> Option<&'static str> {
    static FINGERPRINTS: OnceLock<Vec<String>> = OnceLock::new();
    let known = FINGERPRINTS.get_or_init(|| SHIPPED.iter().map(|(_, bytes)| fingerprint_of(bytes)).collect());
    let place = known.iter().position(|known| known == fingerprint)?;
    SHIPPED.get(place).map(|&(name, _)| name)
}

fn fingerprint_of(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

fn numbers(tensor: &Tensor) -> Result<Vec<f64>, ModelError> {
    Ok(tensor.flatten_all()?.to_dtype(DType::F64)?.to_vec1()?)
}

/// Weights with an adapter, as candle asks for them.
struct Adapted {
    weights: VarBuilder<'static>,
    adapter: Arc<Adapter>,
}

impl Adapted {
    fn adapt(&self, name: &str, weight: Tensor) -> candle_core::Result<Tensor> {
        let Some(low_rank) = self.adapter.low_rank.get(name) else { return Ok(weight) };
        let (outputs, inputs) = low_rank.dims();
        if weight.dims() != [outputs, inputs] {
            let want = weight.dims();
            let problem = format!("what it adds to `{name}` is [{outputs}, {inputs}], the model's weight is {want:?}");
            return Err(ModelError::Adapter { path: self.adapter.path.clone(), problem }.into_candle());
        }
        let mut numbers: Vec<f32> = weight.flatten_all()?.to_vec1()?;
        let rows = numbers.par_chunks_mut(inputs.max(1)).enumerate();
        rows.for_each(|(row, numbers)| low_rank.add_to(row, 0..inputs, numbers));
        Tensor::from_vec(numbers, (outputs, inputs), weight.device())
    }
}

impl SimpleBackend for Adapted {
    fn get(&self, s: Shape, name: &str, h: Init, dtype: DType, device: &Device) -> candle_core::Result<Tensor> {
        if !self.adapter.low_rank.contains_key(name) {
            return self.weights.get_with_hints_dtype(s, name, h, dtype);
        }
        let weight = self.weights.get_with_hints_dtype(s, name, h, DType::F32)?;
        self.adapt(name, weight)?.to_dtype(dtype)?.to_device(device)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> candle_core::Result<Tensor> {
        let weight = self.weights.get_unchecked_dtype(name, DType::F32)?;
        self.adapt(name, weight)?.to_dtype(dtype)?.to_device(device)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.weights.contains_tensor(name)
    }
}
