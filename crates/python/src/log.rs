//! What the library tells goes to `logging`, under `veridiff`.

use std::fmt;

use pyo3::prelude::*;
use tracing::{Event, Level, Metadata, Subscriber, field, level_filters::LevelFilter};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Gives events of the library to `logging` from here on. Where another subscriber was set before, that one has them.
pub fn start() {
    let _another = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(ToLogging));
}

/// Gives an event of `veridiff_core::run` to the logger `veridiff.core.run`, and one of this module's to `veridiff`.
struct ToLogging;

/// What events of this module are from, which is no name for a user.
const OWN: &str = env!("CARGO_CRATE_NAME");

impl<S: Subscriber> Layer<S> for ToLogging {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with("veridiff") || metadata.target().starts_with(OWN)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => 40,
            Level::WARN => 30,
            Level::INFO => 20,
            Level::DEBUG | Level::TRACE => return,
        };
        let mut line = Line::default();
        event.record(&mut line);
        let target = event.metadata().target();
        let logger = match target.starts_with(OWN) {
            true => "veridiff".to_owned(),
            false => target.replace("::", ".").replacen("veridiff_", "veridiff.", 1),
        };
        // nobody reads it while the interpreter ends; a handler that fails tells of it itself
        let _told = Python::try_attach(|py| -> PyResult<()> {
            let logger = py.import("logging")?.call_method1("getLogger", (logger,))?;
            logger.call_method1("log", (level, "%s%s", line.message, line.fields))?;
            Ok(())
        });
    }
}

/// An event as a line: its message, and its fields as ` name=value`.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl field::Visit for Line {
    fn record_debug(&mut self, field: &field::Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields.push_str(&format!(" {name}={value:?}")),
        }
    }
}
