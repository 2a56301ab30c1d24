//! `--device`: which processor runs the model.

use std::{
    fmt,
    str::FromStr,
    sync::{Mutex, PoisonError},
};

use anyhow::Context;
use candle_core::Device;

use crate::terminal::UsageError;

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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "cpu" => Ok(DeviceChoice::Cpu),
            None if text == "cuda" => Ok(DeviceChoice::Cuda(0)),
            None if text == "metal" => Ok(DeviceChoice::Metal),
            Some(("cuda", n)) => match n.parse() {
                Ok(n) => Ok(DeviceChoice::Cuda(n)),
                Err(_) => Err(format!("`{n}` is not a device number; `cuda:0` is the first")),
            },
            _ => Err(format!("unknown device `{text}`; one of cpu, cuda[:n], metal")),
        }
    }
}

impl DeviceChoice {
    /// The device, ready for tensors; the same one each time, so that models share what is loaded to it.
    ///
    /// Matrix products keep the precision that was asked for: f32 is not cut to TF32, and bf16 and f16 accumulate in f32.
    ///
    /// # Errors
    /// The program was built without the device, or the device, its driver or a library is missing.
    pub fn open(self) -> anyhow::Result<Device> {
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
        let device = device.map_err(anyhow::Error::from).with_context(|| UsageError {
            problem: format!("cannot use the device `{self}`"),
            hint: self.remedy().to_owned(),
        })?;
        candle_core::cuda::set_gemm_reduced_precision_f32(false);
        candle_core::cuda::set_gemm_reduced_precision_bf16(false);
        candle_core::cuda::set_gemm_reduced_precision_f16(false);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_others_are_told_the_valid_ones() {
        let read = |text: &str| text.parse::<DeviceChoice>();
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
    fn a_device_that_is_not_there_is_an_error_with_a_remedy() {
        assert!(DeviceChoice::Cpu.open().unwrap().is_cpu());
        // no machine has as many
        let error = DeviceChoice::Cuda(999).open().unwrap_err();
        assert!(error.to_string().contains("`cuda:999`"), "{error}");
        let usage = error.downcast_ref::<UsageError>().expect("an error with a hint");
        assert!(usage.hint.contains("--device cpu"), "{}", usage.hint);
    }
}
