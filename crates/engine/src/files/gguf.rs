//! One GGUF file: metadata, and tensors dequantised one at a time.
//!
//! candle parses the format. This file adds what a hostile or broken download needs: every size is checked against the
//! file before anything is allocated, and errors carry the path.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use candle_core::{
    Device, Tensor,
    quantized::{
        QTensor,
        ggml_file::qtensor_from_ggml,
        gguf_file::{Content, Value},
    },
};
use memmap2::Mmap;

use crate::ModelError;

/// A GGUF file, open, with its metadata read.
#[derive(Debug)]
pub struct Gguf {
    path: PathBuf,
    content: Content,
    file: Mutex<File>,
    /// The file in memory, where the system can map it: pages come when they are read, and go when memory is short.
    map: Option<Mmap>,
}

impl Gguf {
    /// Opens the file, reads its header and checks that it is as long as the header says.
    ///
    /// # Errors
    /// [`ModelError::Read`], [`ModelError::Gguf`] for a wrong magic number or a broken header, [`ModelError::Truncated`].
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let broken = |problem: String| ModelError::Gguf { path: path.into(), problem };
        let mut file = File::open(path).map_err(ModelError::read(path))?;
        let have = file.metadata().map_err(ModelError::read(path))?.len();
        let mut magic = Vec::with_capacity(4);
        (&file).take(4).read_to_end(&mut magic).map_err(ModelError::read(path))?;
        if magic != b"GGUF" {
            return Err(broken(format!("it starts with `{}`, not `GGUF`", magic.escape_ascii())));
        }
        file.rewind().map_err(ModelError::read(path))?;
        let mut reader = AlignmentGuard { inner: BufReader::new(file), state: GuardState::Watching };
        let content = Content::read(&mut reader).map_err(|error| match innermost(&error) {
            // Inside the header nothing says how long the file should have been.
            candle_core::Error::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                broken(format!("it ends within the header, after {have} bytes"))
            }
            other => broken(printable(&other.to_string())),
        })?;
        let mut need = content.tensor_data_offset;
        for (name, info) in &content.tensor_infos {
            let end = tensor_bytes(info.shape.dims(), info.ggml_dtype.block_size(), info.ggml_dtype.type_size())
                .and_then(|bytes| content.tensor_data_offset.checked_add(info.offset)?.checked_add(bytes))
                .ok_or_else(|| {
                    let name = printable(name);
                    broken(format!("tensor `{name}` cannot have shape {:?} as {:?}", info.shape, info.ggml_dtype))
                })?;
            need = need.max(end);
        }
        // The padding after the last tensor is not always written.
        if need > have && !content.tensor_infos.is_empty() {
            return Err(ModelError::Truncated { path: path.into(), need, have });
        }
        let file = reader.inner.into_inner();
        // SAFETY: the mapping is only read, and only as bytes or numbers that every bit pattern is one of. A model in the cache is
        // replaced as a whole, never written to; of a file that somebody shortens while it is used, the system ends the program.
        let map = unsafe { Mmap::map(&file) }.ok();
        Ok(Gguf { path: path.into(), content, file: Mutex::new(file), map })
    }

    /// The path that the file was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The header as candle reads it: metadata (tokenizer included), tensor names, shapes and types.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// A string of the metadata; none if the key is absent or holds something else.
    pub fn string(&self, key: &str) -> Option<&str> {
        self.content.metadata.get(key)?.to_string().ok().map(String::as_str)
    }

    /// A whole number of the metadata, of any integer width; of an array, the value that all entries share.
    ///
    /// # Errors
    /// [`ModelError::Field`] if it is negative, no integer, or an array whose entries differ.
    pub fn unsigned(&self, key: &str) -> Result<Option<usize>, ModelError> {
        let Some(value) = self.content.metadata.get(key) else { return Ok(None) };
        let one = |value: &Value| match value {
            Value::I8(v) => usize::try_from(*v).ok(),
            Value::I16(v) => usize::try_from(*v).ok(),
            Value::I32(v) => usize::try_from(*v).ok(),
            Value::I64(v) => usize::try_from(*v).ok(),
            Value::Bool(_) => None,
            other => other.to_u64().ok().and_then(|v| usize::try_from(v).ok()),
        };
        let number = match value {
            Value::Array(entries) => match entries.iter().map(one).collect::<Option<Vec<_>>>().as_deref() {
                Some([first, rest @ ..]) if rest.iter().all(|other| other == first) => Some(*first),
                _ => {
                    let problem = "differs from layer to layer, which is not supported";
                    return Err(ModelError::field(&self.path, key, problem));
                }
            },
            value => one(value),
        };
        let problem = "is not a whole number, expected one";
        number.map(Some).ok_or_else(|| ModelError::field(&self.path, key, problem))
    }

    /// A floating-point number of the metadata; none if the key is absent or holds something else.
    pub fn float(&self, key: &str) -> Option<f64> {
        match self.content.metadata.get(key)? {
            Value::F32(v) => Some(f64::from(*v)),
            Value::F64(v) => Some(*v),
            _ => None,
        }
    }

    /// A tensor's shape, rows first (as Hugging Face stores it); `None` if there is no such tensor.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.content.tensor_infos.get(name).map(|info| info.shape.dims())
    }

    /// Where a tensor's bytes are in the file; `None` if there is no such tensor.
    pub(crate) fn place(&self, name: &str) -> Option<Range<usize>> {
        let info = self.content.tensor_infos.get(name)?;
        let bytes = tensor_bytes(info.shape.dims(), info.ggml_dtype.block_size(), info.ggml_dtype.type_size())?;
        let start = usize::try_from(self.content.tensor_data_offset.checked_add(info.offset)?).ok()?;
        Some(start..start.checked_add(usize::try_from(bytes).ok()?)?)
    }

    /// Bytes of the mapped file; `None` where it is not mapped or shorter.
    pub(crate) fn mapped(&self, place: Range<usize>) -> Option<&[u8]> {
        self.map.as_ref()?.get(place)
    }

    /// Says that some bytes will not be read again soon: the system may take their pages back.
    pub(crate) fn unneeded(&self, place: Range<usize>) {
        #[cfg(unix)]
        if let Some(map) = self.map.as_ref().filter(|map| place.start < place.end && place.end <= map.len()) {
            // SAFETY: pages of a file that is only read come back from it when they are read again.
            let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, place.start, place.len()) };
        }
        #[cfg(not(unix))]
        let _ = place;
    }

    /// Reads one tensor, dequantised to f32, on the CPU.
    ///
    /// # Errors
    /// Those of [`Gguf::stored`].
    pub fn tensor(&self, name: &str) -> Result<Tensor, ModelError> {
        Ok(self.stored(name)?.dequantize(&Device::Cpu)?)
    }

    /// Reads one tensor as it is stored, to the CPU.
    ///
    /// # Errors
    /// [`ModelError::MissingTensor`], [`ModelError::TensorDtype`] for a block format that candle cannot read, [`ModelError::Read`].
    pub fn stored(&self, name: &str) -> Result<QTensor, ModelError> {
        let path = || self.path.clone();
        let info = self
            .content
            .tensor_infos
            .get(name)
            .ok_or_else(|| ModelError::MissingTensor { name: name.into(), path: path() })?;
        if let Some(bytes) = self.place(name).and_then(|place| self.mapped(place))
            && bytes.as_ptr().align_offset(align_of::<f32>()) == 0
            && let Ok(tensor) = qtensor_from_ggml(info.ggml_dtype, bytes, info.shape.dims().to_vec(), &Device::Cpu)
        {
            return Ok(tensor);
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        info.read(&mut *file, self.content.tensor_data_offset, &Device::Cpu).map_err(|error| match innermost(&error) {
            candle_core::Error::Io(io) => ModelError::Read { path: path(), source: io.kind().into() },
            _ => ModelError::TensorDtype { name: name.into(), path: path(), got: format!("{:?}", info.ggml_dtype) },
        })
    }
}

/// Bytes of a tensor stored in blocks; `None` if the shape is not whole blocks or the size overflows.
fn tensor_bytes(dims: &[usize], block_size: usize, block_bytes: usize) -> Option<u64> {
    let elements = dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim))?;
    if !elements.is_multiple_of(block_size) {
        return None;
    }
    // Dequantised to f64 it must still be addressable.
    elements.checked_mul(8)?;
    u64::try_from((elements / block_size).checked_mul(block_bytes)?).ok()
}

/// The error inside candle's wrappers, without the backtrace that some add.
fn innermost(error: &candle_core::Error) -> &candle_core::Error {
    use candle_core::Error as E;
    match error {
        E::WithBacktrace { inner, .. } | E::WithPath { inner, .. } | E::Context { inner, .. } => innermost(inner),
        other => other,
    }
}

/// Text from a file, safe for a terminal and of bounded length.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(200).collect()
}

/// Fails where the header sets an alignment of zero, by which candle would divide.
///
/// It recognises the key as it goes by: key, value type and value are each one read.
struct AlignmentGuard {
    inner: BufReader<File>,
    state: GuardState,
}

enum GuardState {
    Watching,
    TypeNext,
    ValueNext,
}

impl AlignmentGuard {
    fn saw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.state = match self.state {
            GuardState::Watching if bytes == b"general.alignment" => GuardState::TypeNext,
            GuardState::Watching => GuardState::Watching,
            GuardState::TypeNext => GuardState::ValueNext,
            GuardState::ValueNext if bytes.iter().all(|byte| *byte == 0) => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "general.alignment is 0"));
            }
            GuardState::ValueNext => GuardState::Watching,
        };
        Ok(())
    }
}

impl Read for AlignmentGuard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.saw(&buffer[..n])?;
        Ok(n)
    }

    // The default would deliver a read that straddles the buffer's end in two pieces.
    fn read_exact(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(buffer)?;
        self.saw(buffer)
    }
}

impl Seek for AlignmentGuard {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }

    // The default would go through `seek`, which empties the buffer; candle asks before every string.
    fn stream_position(&mut self) -> io::Result<u64> {
        self.inner.stream_position()
    }
}
