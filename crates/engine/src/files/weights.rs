//! Files on disk -> tensors under Hugging Face names (`model.layers.0.self_attn.q_proj.weight`), in the dtype and on the
//! device that the caller chooses, whatever the checkpoint stores.
//!
//! Tensors are read one at a time when asked for, so loading needs the model once plus its largest tensor.
//! Shape and finiteness are checked for each.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use candle_core::{DType, Device, Shape, Storage, Tensor, quantized::QTensor};
use candle_nn::{Init, VarBuilder, var_builder::SimpleBackend};
use safetensors::{Dtype, tensor::Metadata};

use crate::{
    ModelError,
    architectures::{config::Config, family::RowOrder},
    files::gguf::Gguf,
};

/// Opens the safetensors of a Hugging Face folder: `model.safetensors`, or the shards that
/// `model.safetensors.index.json` names.
///
/// A checkpoint with a tied head stores the table once, and not always as the embedding: where only `lm_head.weight` is
/// there, it is `model.embed_tokens.weight` too.
///
/// # Errors
/// [`ModelError::NoWeights`], [`ModelError::MissingShard`], [`ModelError::Safetensors`], [`ModelError::Truncated`],
/// [`ModelError::Read`], [`ModelError::Json`]. Getting a tensor can give [`ModelError::MissingTensor`],
/// [`ModelError::TensorShape`], [`ModelError::TensorDtype`] and [`ModelError::NonFinite`]; they travel inside candle's
/// error and come out of it through `From`.
pub fn open_folder(
    folder: &Path,
    config: &Config,
    dtype: DType,
    device: &Device,
) -> Result<VarBuilder<'static>, ModelError> {
    let mut checkpoint = Checkpoint::open(folder)?;
    checkpoint.tied_as_head = config.tie_word_embeddings && checkpoint.shard(EMBEDDING).is_none();
    Ok(builder(checkpoint, dtype, device))
}

/// Opens the safetensors of a Hugging Face folder under the names they have there; errors are those of [`open_folder`].
///
/// # Errors
/// As [`open_folder`].
pub fn open_as_stored(folder: &Path, dtype: DType, device: &Device) -> Result<VarBuilder<'static>, ModelError> {
    Ok(builder(Checkpoint::open(folder)?, dtype, device))
}

/// Opens a GGUF file's tensors, dequantised, under Hugging Face names; errors are those of [`open_folder`].
///
/// llama.cpp stores the rows of Llama's q and k projections in the order of an interleaved rotation; they are put back
/// into the order of the rotation by halves. Qwen's are stored as they are.
pub fn open_gguf(gguf: Arc<Gguf>, config: &Config, dtype: DType, device: &Device) -> VarBuilder<'static> {
    let permuted = config.architecture.family().gguf_rows == RowOrder::Interleaved;
    let heads = permuted.then_some((config.num_attention_heads, config.num_key_value_heads));
    builder(GgufStore { gguf, heads }, dtype, device)
}

/// The safetensors files of a folder: the one file, or the shards in the index's order.
pub(crate) fn safetensors_files(folder: &Path) -> Result<Vec<PathBuf>, ModelError> {
    let single = folder.join("model.safetensors");
    if single.is_file() {
        return Ok(vec![single]);
    }
    let index = folder.join("model.safetensors.index.json");
    if !index.is_file() {
        return Err(ModelError::NoWeights { path: folder.into() });
    }
    let text = std::fs::read_to_string(&index).map_err(ModelError::read(&index))?;
    shard_names(&text, &index)?
        .into_iter()
        .map(|shard| {
            let file = folder.join(&shard);
            if file.is_file() { Ok(file) } else { Err(ModelError::MissingShard { index: index.clone(), shard }) }
        })
        .collect()
}

/// The distinct file names in an index, sorted. They must be plain names: an index is no licence to read elsewhere.
pub(crate) fn shard_names(text: &str, index: &Path) -> Result<Vec<String>, ModelError> {
    #[derive(serde::Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, String>,
    }
    let Index { weight_map } =
        serde_json::from_str(text).map_err(|source| ModelError::Json { path: index.into(), source })?;
    let mut shards: Vec<String> = weight_map.into_values().collect();
    shards.sort();
    shards.dedup();
    if let Some(bad) = shards.iter().find(|name| Path::new(name).file_name() != Some(name.as_str().as_ref())) {
        return Err(ModelError::field(
            index,
            "weight_map",
            format!("`{}` is not a plain file name", bad.escape_debug()),
        ));
    }
    Ok(shards)
}

/// Where tensors come from: a checkpoint in either format.
trait Store: Send + Sync + 'static {
    /// The file or folder, and the name there, by which errors call a tensor.
    fn locate(&self, name: &str) -> (PathBuf, String);
    /// The shape as stored; `None` if there is no such tensor.
    fn shape(&self, name: &str) -> Option<Vec<usize>>;
    /// The tensor on the CPU, in any floating-point dtype.
    fn load(&self, name: &str) -> Result<Tensor, ModelError>;
}

fn builder(store: impl Store, dtype: DType, device: &Device) -> VarBuilder<'static> {
    VarBuilder::from_backend(Box::new(Backend(store)), dtype, device.clone())
}

/// What candle asks for tensors; the checks that both formats share are here.
struct Backend<S>(S);

impl<S: Store> Backend<S> {
    fn fetch(&self, want: Option<&Shape>, name: &str, dtype: DType, device: &Device) -> Result<Tensor, ModelError> {
        let located = || self.0.locate(name);
        let Some(got) = self.0.shape(name) else {
            let (path, name) = located();
            return Err(ModelError::MissingTensor { name, path });
        };
        if let Some(want) = want.filter(|want| want.dims() != got) {
            let (path, name) = located();
            return Err(ModelError::TensorShape { name, path, got, want: want.dims().to_vec() });
        }
        let tensor = self.0.load(name)?.to_dtype(dtype)?;
        if let Some((index, value)) = first_non_finite(&tensor)? {
            let (path, name) = located();
            return Err(ModelError::NonFinite { name, path, dtype: dtype.as_str(), index, value });
        }
        Ok(tensor.to_device(device)?)
    }
}

impl<S: Store> SimpleBackend for Backend<S> {
    fn get(&self, s: Shape, name: &str, _: Init, dtype: DType, dev: &Device) -> candle_core::Result<Tensor> {
        self.fetch(Some(&s), name, dtype, dev).map_err(ModelError::into_candle)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, dev: &Device) -> candle_core::Result<Tensor> {
        self.fetch(None, name, dtype, dev).map_err(ModelError::into_candle)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.0.shape(name).is_some()
    }
}

/// Flat index and value of the first NaN or infinity of a CPU tensor.
pub(super) fn first_non_finite(tensor: &Tensor) -> Result<Option<(usize, f64)>, ModelError> {
    fn find<T: candle_core::WithDType>(values: &[T]) -> Option<(usize, f64)> {
        values.iter().map(|v| v.to_f64()).enumerate().find(|(_, value)| !value.is_finite())
    }
    let tensor = tensor.contiguous()?;
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { return Ok(None) };
    let span = layout.start_offset()..layout.start_offset() + layout.shape().elem_count();
    Ok(match tensor.dtype() {
        DType::F32 => find(&storage.as_slice::<f32>()?[span]),
        DType::F64 => find(&storage.as_slice::<f64>()?[span]),
        DType::F16 => find(&storage.as_slice::<half::f16>()?[span]),
        DType::BF16 => find(&storage.as_slice::<half::bf16>()?[span]),
        _ => None,
    })
}

/// The safetensors of one folder.
struct Checkpoint {
    folder: PathBuf,
    shards: Vec<Shard>,
    shard_of: HashMap<String, usize>,
    /// The embedding table is stored under the head's name only.
    tied_as_head: bool,
}

const EMBEDDING: &str = "model.embed_tokens.weight";
const HEAD: &str = "lm_head.weight";

/// One safetensors file: its header, and the file for reading tensors.
struct Shard {
    path: PathBuf,
    header: Metadata,
    /// Where the tensors' bytes begin.
    data_start: u64,
    file: Mutex<File>,
}

// The format's own limit: no header is longer.
const MAX_HEADER_BYTES: u64 = 100_000_000;

impl Checkpoint {
    fn open(folder: &Path) -> Result<Self, ModelError> {
        let (shards, shard_of) = (Vec::new(), HashMap::new());
        let mut checkpoint = Checkpoint { folder: folder.into(), shards, shard_of, tied_as_head: false };
        for file in safetensors_files(folder)? {
            checkpoint.add(&file)?;
        }
        Ok(checkpoint)
    }

    fn add(&mut self, path: &Path) -> Result<(), ModelError> {
        let broken = |problem: String| ModelError::Safetensors { path: path.into(), problem };
        let mut file = File::open(path).map_err(ModelError::read(path))?;
        let have = file.metadata().map_err(ModelError::read(path))?.len();
        if have < 8 {
            return Err(ModelError::Truncated { path: path.into(), need: 8, have });
        }
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(ModelError::read(path))?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER_BYTES {
            return Err(broken(format!("its header claims {length} bytes, the limit is {MAX_HEADER_BYTES}")));
        }
        if 8 + length > have {
            return Err(ModelError::Truncated { path: path.into(), need: 8 + length, have });
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(ModelError::read(path))?;
        let header: Metadata =
            serde_json::from_slice(&header).map_err(|error| broken(format!("in its header, {error}")))?;
        let need = (8 + length).saturating_add(header.data_len() as u64);
        if need > have {
            return Err(ModelError::Truncated { path: path.into(), need, have });
        }
        for name in header.offset_keys() {
            self.shard_of.insert(name, self.shards.len());
        }
        self.shards.push(Shard { path: path.into(), header, data_start: 8 + length, file: Mutex::new(file) });
        Ok(())
    }

    fn shard(&self, name: &str) -> Option<&Shard> {
        self.shards.get(*self.shard_of.get(name)?)
    }

    fn stored_name<'a>(&self, name: &'a str) -> &'a str {
        if self.tied_as_head && name == EMBEDDING && self.shard_of.contains_key(HEAD) { HEAD } else { name }
    }
}

impl Store for Checkpoint {
    fn locate(&self, name: &str) -> (PathBuf, String) {
        let name = self.stored_name(name);
        let path = match (self.shard(name), self.shards.as_slice()) {
            (Some(shard), _) | (None, [shard]) => shard.path.clone(),
            (None, _) => self.folder.clone(),
        };
        (path, name.into())
    }

    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        let name = self.stored_name(name);
        Some(self.shard(name)?.header.info(name)?.shape.clone())
    }

    fn load(&self, name: &str) -> Result<Tensor, ModelError> {
        let name = self.stored_name(name);
        let (shard, info) = self
            .shard(name)
            .and_then(|shard| Some((shard, shard.header.info(name)?)))
            .ok_or_else(|| ModelError::MissingTensor { name: name.into(), path: self.folder.clone() })?;
        let path = &shard.path;
        let dtype = match info.dtype {
            Dtype::F64 => DType::F64,
            Dtype::F32 => DType::F32,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
            other => {
                let got = format!("{other:?}");
                return Err(ModelError::TensorDtype { name: name.into(), path: path.clone(), got });
            }
        };
        let (start, end) = info.data_offsets;
        let mut bytes = vec![0; end - start];
        let mut file = shard.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(shard.data_start + start as u64)).map_err(ModelError::read(path))?;
        file.read_exact(&mut bytes).map_err(ModelError::read(path))?;
        Ok(Tensor::from_raw_buffer(&bytes, dtype, &info.shape, &Device::Cpu)?)
    }
}

/// A GGUF file under Hugging Face names.
struct GgufStore {
    gguf: Arc<Gguf>,
    /// Query and key heads, where the rows of q and k are permuted.
    heads: Option<(usize, usize)>,
}

impl Store for GgufStore {
    fn locate(&self, name: &str) -> (PathBuf, String) {
        (self.gguf.path().into(), gguf_name(name).unwrap_or_else(|| name.into()))
    }

    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        self.gguf.shape(&gguf_name(name)?).map(<[usize]>::to_vec)
    }

    fn load(&self, name: &str) -> Result<Tensor, ModelError> {
        let missing = || ModelError::MissingTensor { name: name.into(), path: self.gguf.path().into() };
        let tensor = self.gguf.tensor(&gguf_name(name).ok_or_else(missing)?)?;
        match self.heads {
            Some((heads, _)) if name.contains(".q_proj.") => unpermute(&tensor, heads),
            Some((_, heads)) if name.contains(".k_proj.") => unpermute(&tensor, heads),
            _ => Ok(tensor),
        }
    }
}

/// A matrix of a GGUF file as it is stored, by its Hugging Face name; and of how many heads its rows are where llama.cpp has put them
/// into another order, see [`stored_row`].
///
/// # Errors
/// Those of [`Gguf::stored`].
pub(crate) fn stored_matrix(gguf: &Gguf, config: &Config, name: &str) -> Result<(QTensor, Option<usize>), ModelError> {
    let missing = || ModelError::MissingTensor { name: name.into(), path: gguf.path().into() };
    let stored = gguf.stored(&gguf_name(name).ok_or_else(missing)?)?;
    let heads = match config.architecture.family().gguf_rows {
        RowOrder::Interleaved if name.contains(".q_proj.") => Some(config.num_attention_heads),
        RowOrder::Interleaved if name.contains(".k_proj.") => Some(config.num_key_value_heads),
        _ => None,
    };
    Ok((stored, heads))
}

/// Where row `row` of heads of `d` rows, in the order of a rotation by halves, stands in that of an interleaved rotation.
pub(crate) fn stored_row(row: usize, d: usize) -> usize {
    let (head, at) = (row / d, row % d);
    head * d + at % (d / 2) * 2 + at / (d / 2)
}

/// Rows from the order of an interleaved rotation (0, d/2, 1, d/2 + 1, …) to that of a rotation by halves (0, 1, 2, …),
/// head by head; `tensor` is `[heads * d, H]` or, for a bias, `[heads * d]`.
fn unpermute(tensor: &Tensor, heads: usize) -> Result<Tensor, ModelError> {
    let (rows, columns) = match *tensor.dims() {
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => return Ok(tensor.clone()),
    };
    let half = rows / heads / 2;
    Ok(tensor.reshape((heads, half, 2, columns))?.transpose(1, 2)?.contiguous()?.reshape(tensor.shape())?)
}

/// llama.cpp's name for a tensor, from the Hugging Face name.
pub(super) fn gguf_name(name: &str) -> Option<String> {
    match name {
        "model.embed_tokens.weight" => return Some("token_embd.weight".into()),
        "model.norm.weight" => return Some("output_norm.weight".into()),
        "lm_head.weight" => return Some("output.weight".into()),
        _ => {}
    }
    let (layer, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
    let (module, kind) = rest.rsplit_once('.')?;
    let module = match module {
        "input_layernorm" => "attn_norm",
        "post_attention_layernorm" => "ffn_norm",
        "self_attn.q_proj" => "attn_q",
        "self_attn.k_proj" => "attn_k",
        "self_attn.v_proj" => "attn_v",
        "self_attn.o_proj" => "attn_output",
        "self_attn.q_norm" => "attn_q_norm",
        "self_attn.k_norm" => "attn_k_norm",
        "mlp.gate_proj" => "ffn_gate",
        "mlp.up_proj" => "ffn_up",
        "mlp.down_proj" => "ffn_down",
        _ => return None,
    };
    Some(format!("blk.{layer}.{module}.{kind}"))
}
