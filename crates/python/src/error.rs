//! Errors of the library as exceptions: what, where and how to mend it.

use std::error::Error;

use pyo3::{prelude::*, sync::PyOnceLock, types::PyType};

use veridiff_text::chain::one_line;

/// A result whose error is a [`Fault`] unless another is named.
pub type Result<T, E = Fault> = std::result::Result<T, E>;

/// What went wrong, in a line, and how to mend it.
#[derive(Debug)]
pub struct Fault {
    what: String,
    hint: Option<String>,
}

impl Fault {
    /// An error that this module itself finds.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Fault {
        Fault { what: what.into(), hint: Some(hint.into()) }
    }

    fn of(error: &dyn Error, hint: Option<String>) -> Fault {
        Fault { what: one_line(error), hint }
    }
}

/// Errors that the library has as they are, each with a hint of its own.
macro_rules! hinted {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Fault {
            fn from(error: $error) -> Fault {
                let hint = error.hint();
                Fault::of(&error, hint)
            }
        })+
    };
}

hinted!(
    veridiff_core::Error,
    veridiff_core::run::references::ReferenceError,
    veridiff_detector::DetectorError,
    veridiff_engine::device::DeviceError,
    veridiff_engine::plan::PlanError,
    veridiff_table::TableError,
    veridiff_text::prompt::PromptError,
    veridiff_text::sample::SampleError,
);

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Fault {
        Fault::of(&error, None)
    }
}

impl From<String> for Fault {
    fn from(what: String) -> Fault {
        Fault { what, hint: None }
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> PyErr {
        Python::attach(|py| {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            match CLASS.import(py, "veridiff._errors", "VeridiffError") {
                Ok(class) => PyErr::from_type(class.clone(), (fault.what, fault.hint)),
                Err(error) => error,
            }
        })
    }
}
