//! Matrices of a GGUF file as they are stored, in its mapped bytes: what panels are made of when they are wanted.

use std::{ops::Range, sync::Arc};

use candle_core::quantized::{
    GgmlDType,
    k_quants::{BlockQ2K, BlockQ3K, BlockQ4_0, BlockQ4K, BlockQ5_0, BlockQ5_1, BlockQ5K, BlockQ6K, GgmlType},
};
use half::{bf16, f16};

use crate::{
    architectures::{config::Config, family::RowOrder},
    files::{
        adapter::{Adapter, LowRank},
        gguf::Gguf,
        weights::{gguf_name, stored_row},
    },
    ops::{StoredRows, vectorised},
};

/// A GGUF file whose matrices can be read in pieces.
#[derive(Debug, Clone)]
pub struct StoredWeights {
    gguf: Arc<Gguf>,
    /// Query and key heads, where the rows of q and k are in the order of an interleaved rotation.
    heads: Option<(usize, usize)>,
    /// What is added to the matrices where they are read.
    adapter: Option<Arc<Adapter>>,
}

impl StoredWeights {
    /// The matrices of a file with a model of these numbers.
    pub fn new(gguf: Arc<Gguf>, config: &Config) -> Self {
        let is_permuted = config.architecture.family().gguf_rows == RowOrder::Interleaved;
        let heads = is_permuted.then_some((config.num_attention_heads, config.num_key_value_heads));
        StoredWeights { gguf, heads, adapter: None }
    }

    /// The same with what an adapter adds to them: the numbers of [`Adapter::onto`], to the last bit.
    pub fn adapted(self, adapter: &Arc<Adapter>) -> Self {
        StoredWeights { adapter: Some(Arc::clone(adapter)), ..self }
    }

    /// Several matrices of `inputs` columns above each other, each by its Hugging Face name with its rows. `None` where one is not as
    /// expected, cannot be read in pieces or holds what is no finite number: whoever reads it whole finds out what is wrong.
    pub fn matrix(&self, parts: &[(String, usize)], inputs: usize) -> Option<Arc<dyn StoredRows>> {
        let parts = parts.iter().map(|(name, rows)| self.part(name, *rows, inputs)).collect::<Option<Vec<_>>>()?;
        let rows = parts.iter().map(|part| part.rows).sum();
        Some(Arc::new(StoredMatrix { gguf: self.gguf.clone(), parts, rows, inputs }))
    }

    fn part(&self, name: &str, rows: usize, inputs: usize) -> Option<Part> {
        let heads = match self.heads {
            Some((heads, _)) if name.contains(".q_proj.") => Some(heads),
            Some((_, heads)) if name.contains(".k_proj.") => Some(heads),
            _ => None,
        };
        let stored = gguf_name(name)?;
        if self.gguf.shape(&stored)? != [rows, inputs] {
            return None;
        }
        let format = Format::of(self.gguf.content().tensor_infos.get(&stored)?.ggml_dtype)?;
        let place = self.gguf.place(&stored)?;
        let bytes = self.gguf.mapped(place.clone())?;
        let fits = inputs.is_multiple_of(format.block) && bytes.len() == rows * (inputs / format.block) * format.bytes;
        let is_even = heads.is_none_or(|heads| heads > 0 && rows.is_multiple_of(2 * heads));
        if !fits || !is_even || bytes.as_ptr().align_offset(align_of::<f32>()) != 0 || !format.is_finite(bytes) {
            return None;
        }
        let added = self.adapter.as_ref().and_then(|adapter| adapter.addition(name));
        if added.as_ref().is_some_and(|added| added.dims() != (rows, inputs)) {
            return None;
        }
        Some(Part { place, format, rows, per_head: heads.map(|heads| rows / heads), added })
    }
}

/// Matrices above each other.
#[derive(Debug)]
struct StoredMatrix {
    gguf: Arc<Gguf>,
    parts: Vec<Part>,
    rows: usize,
    inputs: usize,
}

#[derive(Debug)]
struct Part {
    /// Where its bytes are in the file.
    place: Range<usize>,
    format: Format,
    rows: usize,
    /// Rows of a head, where they are in another order.
    per_head: Option<usize>,
    added: Option<Arc<LowRank>>,
}

impl StoredRows for StoredMatrix {
    fn dims(&self) -> (usize, usize) {
        (self.rows, self.inputs)
    }

    fn block(&self) -> usize {
        self.parts.iter().map(|part| part.format.block).max().unwrap_or(1)
    }

    fn read(&self, mut row: usize, columns: Range<usize>, out: &mut [f32]) {
        for part in &self.parts {
            if row < part.rows {
                let stored = part.per_head.map_or(row, |rows| stored_row(row, rows));
                let Format { block, bytes, .. } = part.format;
                let per_row = self.inputs / block * bytes;
                let all = self.gguf.mapped(part.place.clone()).unwrap_or_default();
                let of_row = &all[stored * per_row..][..per_row];
                let place = columns.start / block * bytes..columns.end.div_ceil(block) * bytes;
                (part.format.read)(&of_row[place], out);
                if let Some(added) = &part.added {
                    added.add_to(row, columns, out);
                }
                return;
            }
            row -= part.rows;
        }
        unreachable!("the row is one of the matrix")
    }

    fn done(&self) {
        self.parts.iter().for_each(|part| self.gguf.unneeded(part.place.clone()));
    }
}

/// How the numbers of a tensor are stored: in blocks, most of them of small integers with scales.
#[derive(Debug, Clone, Copy)]
struct Format {
    /// Numbers of a block.
    block: usize,
    /// Bytes of a block.
    bytes: usize,
    /// Where in a block the halves are that all its numbers are multiples of, or are moved by.
    scales: &'static [usize],
    /// Whether all is finite, where there are no scales to tell.
    plain: Option<fn(&[u8]) -> bool>,
    read: fn(&[u8], &mut [f32]),
}

impl Format {
    fn of(dtype: GgmlDType) -> Option<Format> {
        let blocks = |scales, read| {
            Some(Format { block: dtype.block_size(), bytes: dtype.type_size(), scales, plain: None, read })
        };
        let plain = |plain: fn(&[u8]) -> bool, read| {
            Some(Format { block: 1, bytes: dtype.type_size(), scales: &[], plain: Some(plain), read })
        };
        match dtype {
            GgmlDType::Q4_0 => blocks(&[0], read::<BlockQ4_0>),
            GgmlDType::Q4_1 => blocks(&[0, 2], read_q4_1),
            GgmlDType::Q5_0 => blocks(&[0], read::<BlockQ5_0>),
            GgmlDType::Q5_1 => blocks(&[0, 2], read::<BlockQ5_1>),
            GgmlDType::Q8_0 => blocks(&[0], read_q8_0),
            GgmlDType::Q2K => blocks(&[80, 82], read::<BlockQ2K>),
            GgmlDType::Q3K => blocks(&[108], read::<BlockQ3K>),
            GgmlDType::Q4K => blocks(&[0, 2], read::<BlockQ4K>),
            GgmlDType::Q5K => blocks(&[0, 2], read::<BlockQ5K>),
            GgmlDType::Q6K => blocks(&[208], read::<BlockQ6K>),
            GgmlDType::F16 => plain(
                |bytes| numbers::<f16>(bytes).iter().all(|x| x.is_finite()),
                |bytes, out| {
                    out.iter_mut().zip(numbers::<f16>(bytes)).for_each(|(out, x)| *out = x.to_f32());
                },
            ),
            GgmlDType::BF16 => plain(
                |bytes| numbers::<bf16>(bytes).iter().all(|x| x.is_finite()),
                |bytes, out| {
                    out.iter_mut().zip(numbers::<bf16>(bytes)).for_each(|(out, x)| *out = x.to_f32());
                },
            ),
            GgmlDType::F32 => plain(
                |bytes| numbers::<f32>(bytes).iter().all(|x| x.is_finite()),
                |bytes, out| {
                    out.copy_from_slice(numbers::<f32>(bytes));
                },
            ),
            _ => None,
        }
    }

    /// Whether all numbers are finite. In blocks they are where the scales are: what these are multiplied by has at most 13 bits.
    fn is_finite(&self, bytes: &[u8]) -> bool {
        /// The exponent of a half that is infinite or no number.
        const EXPONENT: u16 = 0x7c00;
        if let Some(plain) = self.plain {
            return plain(bytes);
        }
        let half = |block: &[u8], at: usize| u16::from_le_bytes([block[at], block[at + 1]]);
        bytes.chunks_exact(self.bytes).all(|block| self.scales.iter().all(|&at| half(block, at) & EXPONENT != EXPONENT))
    }
}

/// Aligned bytes of a file as the numbers that they are, for types of which every bit pattern is one.
fn numbers<T: bytemuck::Pod>(bytes: &[u8]) -> &[T] {
    bytemuck::cast_slice(bytes)
}

/// Whole blocks as numbers, by the same function that reads a whole tensor.
fn read<B: GgmlType>(bytes: &[u8], out: &mut [f32]) {
    assert!(bytes.as_ptr().cast::<B>().is_aligned() && bytes.len().is_multiple_of(size_of::<B>()), "no whole blocks");
    // SAFETY: they are aligned and as long as that; the blocks are integers and halves, of which every bit pattern is a value.
    let blocks = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<B>(), bytes.len() / size_of::<B>()) };
    B::to_float(blocks, out);
}

/// A half of a block.
#[inline(always)]
fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// What [`read`] gives of blocks of `d q + m`, by vectors: the formats of the models that come with the program are read most.
fn read_q4_1(bytes: &[u8], out: &mut [f32]) {
    vectorised(
        #[inline(always)]
        || {
            for (block, out) in bytes.chunks_exact(20).zip(out.chunks_exact_mut(32)) {
                let (d, m) = (half_at(block, 0), half_at(block, 2));
                let (low, high) = out.split_at_mut(16);
                for ((low, high), q) in low.iter_mut().zip(high).zip(&block[4..20]) {
                    *low = f32::from(q & 15) * d + m;
                    *high = f32::from(q >> 4) * d + m;
                }
            }
        },
    );
}

/// The same of blocks of `d q`.
fn read_q8_0(bytes: &[u8], out: &mut [f32]) {
    vectorised(
        #[inline(always)]
        || {
            for (block, out) in bytes.chunks_exact(34).zip(out.chunks_exact_mut(32)) {
                let d = half_at(block, 0);
                for (out, q) in out.iter_mut().zip(&block[2..34]) {
                    *out = f32::from(q.cast_signed()) * d;
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use candle_core::{
        Device, Tensor,
        quantized::{QTensor, gguf_file},
    };

    use super::*;

    const ALL: [GgmlDType; 13] = [
        GgmlDType::F32,
        GgmlDType::F16,
        GgmlDType::BF16,
        GgmlDType::Q4_0,
        GgmlDType::Q4_1,
        GgmlDType::Q5_0,
        GgmlDType::Q5_1,
        GgmlDType::Q8_0,
        GgmlDType::Q2K,
        GgmlDType::Q3K,
        GgmlDType::Q4K,
        GgmlDType::Q5K,
        GgmlDType::Q6K,
    ];

    /// A file with one matrix under the name of a query projection's.
    fn file(of: &QTensor, folder: &tempfile::TempDir) -> std::path::PathBuf {
        let path = folder.path().join("one.gguf");
        let mut file = std::fs::File::create(&path).unwrap();
        gguf_file::write(&mut file, &[], &[("blk.0.attn_q.weight", of)]).unwrap();
        path
    }

    fn matrix(path: &std::path::Path, heads: Option<(usize, usize)>, rows: usize) -> Option<Arc<dyn StoredRows>> {
        let weights = StoredWeights { gguf: Arc::new(Gguf::open(path).unwrap()), heads, adapter: None };
        weights.matrix(&[("model.layers.0.self_attn.q_proj.weight".into(), rows)], 512)
    }

    #[test]
    fn pieces_of_every_format_are_what_the_whole_tensor_is() {
        let folder = tempfile::tempdir().unwrap();
        let numbers: Vec<f32> = (0..12 * 512).map(|i| ((i as f32) * 12.9898).sin() * 1.7).collect();
        let numbers = Tensor::from_vec(numbers, (12, 512), &Device::Cpu).unwrap();
        for dtype in ALL {
            let stored = QTensor::quantize(&numbers, dtype).unwrap();
            let path = file(&stored, &folder);
            let whole = Gguf::open(&path).unwrap().tensor("blk.0.attn_q.weight").unwrap();
            let whole: Vec<Vec<f32>> = whole.to_vec2().unwrap();
            // three heads of four rows, in the order of an interleaved rotation, and as they are
            for heads in [None, Some((3, 3))] {
                let matrix = matrix(&path, heads, 12).unwrap_or_else(|| panic!("{dtype:?} cannot be read in pieces"));
                assert_eq!(matrix.dims(), (12, 512));
                for row in 0..12 {
                    let from = heads.map_or(row, |_| stored_row(row, 4));
                    let (mut first, mut last) = (vec![0.0; 256], vec![0.0; 256]);
                    matrix.read(row, 0..256, &mut first);
                    matrix.read(row, 256..512, &mut last);
                    assert!([first, last].concat() == whole[from], "{dtype:?}, row {row}");
                }
                matrix.done();
                let mut again = vec![0.0; 512];
                matrix.read(0, 0..512, &mut again);
                assert!(again == whole[0], "{dtype:?}: pages that were given back come again");
            }
        }
    }

    /// An adapter of rank 2 for the matrix of [`file`], `[12, 512]`, and what it adds.
    fn adapter(folder: &tempfile::TempDir) -> (Arc<Adapter>, Vec<f32>) {
        let numbers = |n: usize, by: f32| (0..n).map(|i| (i as f32 * by).cos()).collect::<Vec<f32>>();
        let (a, b) = (numbers(2 * 512, 0.37), numbers(12 * 2, 1.3));
        let tensor = |numbers: &[f32], dims: &[usize]| Tensor::from_slice(numbers, dims, &Device::Cpu).unwrap();
        let name = |what: &str| format!("model.layers.0.self_attn.q_proj.lora_{what}.weight");
        let tensors = [
            (name("A"), tensor(&a, &[2, 512])),
            (name("B"), tensor(&b, &[12, 2])),
            ("head.weight".to_owned(), tensor(&[0.0; 8], &[8])),
            ("head.bias".to_owned(), tensor(&[0.0], &[1])),
        ];
        let said = [("template", "{diff}"), ("end", "0")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        let path = folder.path().join("adapter.safetensors");
        safetensors::serialize_to_file(tensors, Some(said.into_iter().collect()), &path).unwrap();
        let added = (0..12 * 512).map(|i| (i / 512, i % 512));
        let added = added.map(|(row, column)| b[row * 2] * a[column] + b[row * 2 + 1] * a[512 + column]).collect();
        (Arc::new(Adapter::open(&path).unwrap()), added)
    }

    #[test]
    fn an_adapter_is_added_to_the_rows_that_it_is_for() {
        let folder = tempfile::tempdir().unwrap();
        let numbers: Vec<f32> = (0..12 * 512).map(|i| ((i as f32) * 12.9898).sin() * 1.7).collect();
        let numbers = Tensor::from_vec(numbers, (12, 512), &Device::Cpu).unwrap();
        let path = file(&QTensor::quantize(&numbers, GgmlDType::Q4_1).unwrap(), &folder);
        let (adapter, added) = adapter(&folder);
        // in the file rows may stand in the order of an interleaved rotation; the adapter's are in the model's
        for heads in [None, Some((3, 3))] {
            let without = matrix(&path, heads, 12).unwrap();
            let weights = StoredWeights { gguf: Arc::new(Gguf::open(&path).unwrap()), heads, adapter: None };
            let name = "model.layers.0.self_attn.q_proj.weight".to_owned();
            let with = weights.adapted(&adapter).matrix(&[(name, 12)], 512).unwrap();
            for row in 0..12 {
                for columns in [0..256, 256..512] {
                    let (mut got, mut want) = (vec![0.0; 256], vec![0.0; 256]);
                    with.read(row, columns.clone(), &mut got);
                    without.read(row, columns.clone(), &mut want);
                    for (place, (got, want)) in got.iter().zip(want).enumerate() {
                        let want = want + added[row * 512 + columns.start + place];
                        assert!((got - want).abs() < 1e-6, "row {row}, column {place}: {got}, expected {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_finite_or_of_another_shape_is_left_to_whoever_reads_it_whole() {
        let folder = tempfile::tempdir().unwrap();
        for dtype in ALL {
            let mut numbers = vec![0.5_f32; 4 * 512];
            numbers[700] = f32::INFINITY;
            let numbers = Tensor::from_vec(numbers, (4, 512), &Device::Cpu).unwrap();
            let stored = QTensor::quantize(&numbers, dtype).unwrap();
            let path = file(&stored, &folder);
            let whole = Gguf::open(&path).unwrap().tensor("blk.0.attn_q.weight").unwrap();
            let whole = whole.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            let is_finite = whole.iter().all(|x| x.is_finite());
            assert_eq!(matrix(&path, None, 4).is_some(), is_finite, "{dtype:?}");
            assert!(matrix(&path, None, 5).is_none() && matrix(&path, Some((3, 3)), 4).is_none(), "{dtype:?}");
        }
    }
}
