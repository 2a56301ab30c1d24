//! `--device`: which processor runs the model. What a name means and how a device is opened is the engine's.

pub use veridiff_engine::device::DeviceChoice;
