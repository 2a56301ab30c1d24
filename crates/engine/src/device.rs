//! The processor that a model runs on. Every device is opened here, so that whoever uses the engine, and however, gets the
//! same arithmetic.

use std::{
    fmt,
    str::FromStr,
    sync::{Mutex, PoisonError},
};

use candle_core::{DType, Device, cuda};
use veridiff_text::hint::Hint;

use crate::ops::check_fused_kernels;

/// A processor by its name: `cpu`, `cuda`, `cuda:1` or `metal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The processor, all of its cores.
    Cpu,
    /// An NVIDIA GPU, by its number.
    Cuda(usize),
    /// The GPU of an Apple machine.
    Metal,
}

/// Opens the device of that name, `cpu`, `cuda[:n]` or `metal`; see [`DeviceChoice::open`].
///
/// # Errors
/// Those of reading the name and of [`DeviceChoice::open`].
pub fn open(name: &str) -> Result<Device, DeviceError> {
    name.parse::<DeviceChoice>()?.open()
}

/// The numbers that models can be read to, by their names.
pub const DTYPES: [(&str, DType); 4] =
    [("f32", DType::F32), ("f64", DType::F64), ("bf16", DType::BF16), ("f16", DType::F16)];

/// The numbers of that name, one of [`DTYPES`].
///
/// # Errors
/// [`DeviceError::Dtype`] for any other name.
pub fn dtype(name: &str) -> Result<DType, DeviceError> {
    let found = DTYPES.iter().find(|(known, _)| *known == name);
    found.map(|(_, dtype)| *dtype).ok_or_else(|| DeviceError::Dtype { text: name.to_owned() })
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Cuda(n) => write!(f, "cuda:{n}"),
            DeviceChoice::Metal => f.write_str("metal"),
        }
    }
}

impl FromStr for DeviceChoice {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        match text.split_once(':') {
            None if text == "cpu" => Ok(DeviceChoice::Cpu),
            None if text == "cuda" => Ok(DeviceChoice::Cuda(0)),
            None if text == "metal" => Ok(DeviceChoice::Metal),
            Some(("cuda", n)) => {
                n.parse().map(DeviceChoice::Cuda).map_err(|_| DeviceError::Number { text: n.to_owned() })
            }
            _ => Err(DeviceError::Name { text: text.to_owned() }),
        }
    }
}

impl DeviceChoice {
    /// The device, ready for tensors; the same one each time, so that models share what is loaded to it.
    ///
    /// Matrix products keep the precision that was asked for: f32 is not cut to TF32, and bf16 and f16 accumulate in f32.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`] where the program was built without the device, or the device, its driver or a library is
    /// missing.
    pub fn open(self) -> Result<Device, DeviceError> {
        static OPENED: Mutex<Option<(DeviceChoice, Device)>> = Mutex::new(None);
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, device)) = opened.as_ref().filter(|(choice, _)| *choice == self) {
            return Ok(device.clone());
        }
        let device = match self {
            DeviceChoice::Cpu => return Ok(Device::Cpu),
            DeviceChoice::Cuda(n) => Device::new_cuda(n),
            DeviceChoice::Metal => Device::new_metal(0),
        };
        let device = device.map_err(|source| DeviceError::Unavailable { choice: self, source })?;
        forbid_reduced_precision();
        check_fused_kernels(&device);
        *opened = Some((self, device.clone()));
        Ok(device)
    }

    fn remedy(self) -> &'static str {
        match self {
            DeviceChoice::Cpu => "--device cpu works everywhere",
            DeviceChoice::Cuda(_) if cfg!(feature = "cuda") => {
                "`nvidia-smi` lists the GPUs; the driver must be of series 580 or later, and the CUDA 13 libraries \
                 libcublas, libcublasLt, libcurand and libnvrtc must be in the folder `cuda` beside the program or in \
                 LD_LIBRARY_PATH; --device cpu needs none of them"
            }
            DeviceChoice::Cuda(_) => {
                "this program was built without it: build with `python3 scripts/cuda/build.py`, or where CUDA is \
                 installed with `cargo build --release --features cuda`; --device cpu needs neither"
            }
            DeviceChoice::Metal if cfg!(feature = "metal") => "--device cpu works without it",
            DeviceChoice::Metal => {
                "this program was built without it: on an Apple machine, build with `cargo build --release --features \
                 metal`; --device cpu works without it"
            }
        }
    }
}

/// Settings of the whole process, which candle's CUDA products ask for each time.
fn forbid_reduced_precision() {
    cuda::set_gemm_reduced_precision_f32(false);
    cuda::set_gemm_reduced_precision_bf16(false);
    cuda::set_gemm_reduced_precision_f16(false);
}

/// Why a device cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No kind of device has this name.
    #[error("unknown device `{text}`; one of cpu, cuda[:n], metal")]
    Name {
        /// The device's name as it was given.
        text: String,
    },
    /// What follows `cuda:` is not the number of a GPU.
    #[error("`{text}` is not a device number; `cuda:0` is the first")]
    Number {
        /// What follows the colon in the name.
        text: String,
    },
    /// No model is read to numbers of this name.
    #[error("unknown dtype `{text}`; one of {}", DTYPES.map(|(name, _)| name).join(", "))]
    Dtype {
        /// The name as it was given.
        text: String,
    },
    /// The device cannot be used on this machine or by this build.
    #[error("cannot use the device `{choice}`")]
    Unavailable {
        /// The device that was asked for.
        choice: DeviceChoice,
        /// What its driver, or candle without it, reports.
        source: candle_core::Error,
    },
}

impl Hint for DeviceError {
    fn hint(&self) -> Option<String> {
        DeviceError::hint(self)
    }
}

impl DeviceError {
    /// How to mend it, if we know; see [`Hint`].
    pub fn hint(&self) -> Option<String> {
        match self {
            // They say what would be right.
            DeviceError::Name { .. } | DeviceError::Number { .. } | DeviceError::Dtype { .. } => None,
            DeviceError::Unavailable { choice, .. } => Some(choice.remedy().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use super::*;

    #[test]
    fn names_are_read_and_others_are_told_the_valid_ones() {
        let read = |text: &str| text.parse::<DeviceChoice>().map_err(|error| error.to_string());
        assert_eq!(read("cpu"), Ok(DeviceChoice::Cpu));
        assert_eq!(read("cuda"), Ok(DeviceChoice::Cuda(0)));
        assert_eq!(read("cuda:1"), Ok(DeviceChoice::Cuda(1)));
        assert_eq!(read("metal"), Ok(DeviceChoice::Metal));
        for bad in ["gpu", "", "cpu:1", "metal:0", "CUDA", "cuda1", ":0"] {
            let error = read(bad).unwrap_err();
            assert!(error.contains(bad) && error.contains("one of cpu, cuda[:n], metal"), "{bad}: {error}");
        }
        for bad in ["cuda:", "cuda:x", "cuda:-1", "cuda:1:2"] {
            assert!(read(bad).unwrap_err().contains("not a device number"), "{bad}");
        }
    }

    #[test]
    fn dtypes_have_names_and_others_are_told_the_valid_ones() {
        assert_eq!(dtype("bf16").unwrap(), DType::BF16);
        let error = dtype("BF16").unwrap_err().to_string();
        assert_eq!(error, "unknown dtype `BF16`; one of f32, f64, bf16, f16");
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error_with_a_remedy() {
        assert!(open("cpu").unwrap().is_cpu());
        // no machine has as many
        let error = open("cuda:999").unwrap_err();
        assert!(error.to_string().contains("`cuda:999`"), "{error}");
        assert!(error.hint().unwrap().contains("--device cpu"), "{error}");
    }

    /// A device that is opened elsewhere would not have the precision that is set here.
    #[test]
    fn no_other_file_of_the_workspace_opens_a_device() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut folders: Vec<PathBuf> =
            ["crates", "src", "tests", "benches", "examples"].iter().map(|folder| root.join(folder)).collect();
        let mut openers = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    let names = ["new_cuda", "new_metal", "_if_available", "CudaDevice::new", "MetalDevice::new"];
                    if names.iter().any(|name| text.contains(name)) {
                        openers.push(path);
                    }
                }
            }
        }
        assert_eq!(openers.len(), 1, "{openers:?}");
        assert!(openers[0].ends_with("crates/engine/src/device.rs"), "{openers:?}");
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn opening_a_gpu_forbids_reduced_precision() {
        cuda::set_gemm_reduced_precision_f32(true);
        // without a GPU there is nothing to open, and the policy itself is tested
        if open("cuda:0").is_err() {
            forbid_reduced_precision();
        }
        let allowed = [
            cuda::gemm_reduced_precision_f32(),
            cuda::gemm_reduced_precision_bf16(),
            cuda::gemm_reduced_precision_f16(),
        ];
        assert_eq!(allowed, [false; 3]);
    }
}
