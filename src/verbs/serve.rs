//! `veridiff serve`: the gate, the scorer and the explanation behind HTTP. A feature of the program: without it the verb says how to
//! get it.

use std::{net::SocketAddr, path::PathBuf};

use super::Exit;
use crate::args::{JUDGING, rules::RuleArgs, scoring::ModelArgs};
use veridiff_engine::plan::parse_size;

/// What `serve` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff serve                                        # for this machine alone
  veridiff serve --detector none                        # the change alone is asked: no model
  veridiff serve --listen 0.0.0.0:8443 --tokens tokens.toml --tls-cert chain.pem --tls-key key.pem

VERIDIFF_SERVE_TOKEN holds one token, for a service with a single client. SIGTERM finishes what was accepted, SIGHUP reads tokens and
detectors anew. docs/service.md has the interface, the limits, and what one machine serves.";

/// The heading of options about who may ask.
const ACCESS: &str = "Access";
/// The heading of options about how much is taken.
const LIMITS: &str = "Limits";

/// Arguments of `veridiff serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to listen; beyond this machine a token is needed
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8077", help_heading = ACCESS)]
    listen: SocketAddr,
    /// Tokens, a TOML file: `[[token]]` with name and sha256, and per_second and per_day where they have bounds
    #[arg(long, value_name = "FILE", help_heading = ACCESS)]
    tokens: Option<PathBuf>,
    /// The certificate's chain, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = ACCESS)]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = ACCESS)]
    tls_key: Option<PathBuf>,
    /// Write a line of JSON a request here: who, what, how it ended, and no text
    #[arg(long, value_name = "FILE", help_heading = ACCESS)]
    audit: Option<PathBuf>,
    /// Send a span of every request, and of what is computed for it, to this collector of OpenTelemetry, by OTLP over HTTP: the whole
    /// URL, such as http://localhost:4318/v1/traces
    #[arg(long, value_name = "URL", help_heading = ACCESS)]
    otlp: Option<String>,
    /// Tell what clients send, too, with -v: whole bodies
    #[arg(long, help_heading = ACCESS)]
    log_texts: bool,
    /// A detector: a file that `fit` wrote, one that ships with the program, or `none` to ask the change alone, which needs no model
    /// [default: the shipped one for the task]
    #[arg(long, value_name = "FILE|NAME", help_heading = JUDGING)]
    detector: Option<String>,
    #[command(flatten)]
    rules: RuleArgs,
    /// Samples that are computed at the same time, by one thread each; 1 has all threads at one [default: one a thread; 1 with
    /// --max-memory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = LIMITS)]
    workers: Option<u16>,
    /// Samples that wait at most, of all clients together
    #[arg(long, value_name = "N", default_value = "1024", help_heading = LIMITS)]
    queue: usize,
    /// Samples of one request at most
    #[arg(long, value_name = "N", default_value = "256", help_heading = LIMITS)]
    max_samples: usize,
    /// Size of a request's body at most
    #[arg(long, value_name = "SIZE", default_value = "4MiB", value_parser = bytes, help_heading = LIMITS)]
    max_body: usize,
    /// Size of a diff at most
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = bytes, help_heading = LIMITS)]
    max_diff: usize,
    /// Size of a text at most
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = bytes, help_heading = LIMITS)]
    max_text: usize,
    /// Open connections at most; more wait
    #[arg(long, value_name = "N", default_value = "2048", help_heading = LIMITS)]
    max_connections: usize,
    /// Seconds that an answer may take; the header `Request-Timeout` of a request can only make it less
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, help_heading = LIMITS)]
    deadline: f64,
    /// Seconds in which accepted work is finished once the service is told to stop
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, help_heading = LIMITS)]
    drain: f64,
    /// Requests a second of a client whose token says nothing else [default: no bound]
    #[arg(long, value_name = "N", value_parser = seconds, help_heading = LIMITS)]
    per_second: Option<f64>,
    #[command(flatten)]
    model: ModelArgs,
}

/// A size in bytes.
fn bytes(text: &str) -> Result<usize, String> {
    let size = parse_size(text).map_err(|error| error.to_string())?;
    usize::try_from(size).map_err(|_| "too large for this machine".to_owned())
}

/// A number above 0, and not more than a day has seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.001..=86_400.0).contains(number));
    number.ok_or_else(|| "give a number above 0, such as 60".to_owned())
}

/// Runs the verb.
#[cfg(not(feature = "serve"))]
pub fn run(_args: Args) -> anyhow::Result<Exit> {
    Err(crate::terminal::UsageError::error(
        "this program was built without its service",
        "build it with `cargo build --release --features serve`",
    ))
}

/// Runs the verb.
#[cfg(feature = "serve")]
pub fn run(args: Args) -> anyhow::Result<Exit> {
    running::run(args)
}

#[cfg(feature = "serve")]
mod running {
    use std::{env, time::Duration};

    use super::Args;
    use crate::{
        args::change::{DetectorChoice, open_gate},
        progress,
        terminal::{UsageError, note},
        verbs::Exit,
    };
    use veridiff_core::{gate::GateOptions, run::models::ModelOptions, settings::Settings};
    use veridiff_serve::{
        Certificate, Limits, Listen, Open, Resident, ServeError, Service, ServiceOptions, TokenSource, serve,
    };
    use veridiff_text::{chain::one_line, sample::Task};

    /// What holds one token.
    const TOKEN: &str = "VERIDIFF_SERVE_TOKEN";

    pub fn run(args: Args) -> anyhow::Result<Exit> {
        let listen = Listen { address: args.listen, certificate: args.certificate() };
        let options = args.model.options()?;
        let workers = match (args.workers, args.model.place.max_memory) {
            (Some(n), _) => usize::from(n),
            // what one computes keeps within the bound, and not what several do
            (None, Some(_)) => 1,
            (None, None) => rayon::current_num_threads(),
        };
        let service = ServiceOptions {
            limits: args.limits(),
            tokens: TokenSource { file: args.tokens.clone(), plain: env::var(TOKEN).ok() },
            workers,
            tells_texts: args.log_texts,
            audit: args.audit.clone(),
            traces: args.otlp.clone(),
        };
        let service = progress::waiting("loading", || Service::start(service, args.open(options))).map_err(told)?;
        let scheme = if listen.certificate.is_some() { "https" } else { "http" };
        serve(&service, &listen, |address| note(&format!("listening at {scheme}://{address}"))).map_err(told)?;
        note("stopped");
        Ok(Exit::Done)
    }

    fn told(error: ServeError) -> anyhow::Error {
        match error.hint() {
            Some(hint) => UsageError::error(one_line(&error), hint),
            None => error.into(),
        }
    }

    impl Args {
        fn certificate(&self) -> Option<Certificate> {
            Some(Certificate { chain: self.tls_cert.clone()?, key: self.tls_key.clone()? })
        }

        fn limits(&self) -> Limits {
            Limits {
                body_bytes: self.max_body,
                diff_bytes: self.max_diff,
                text_bytes: self.max_text,
                samples: self.max_samples,
                queue: self.queue,
                connections: self.max_connections,
                deadline: Duration::from_secs_f64(self.deadline),
                drain: Duration::from_secs_f64(self.drain),
                requests_per_second: self.per_second,
                ..Limits::default()
            }
        }

        /// Opens the gate, and opens it anew with the models that are there.
        fn open(self, models: ModelOptions) -> Box<Open> {
            Box::new(move |before| self.resident(&models, before).map_err(|error| format!("{error:#}")))
        }

        fn resident(&self, models: &ModelOptions, before: Option<&Resident>) -> anyhow::Result<Resident> {
            let detector = DetectorChoice::named(self.detector.as_deref())?;
            let trained = detector.as_ref().map_or_else(Settings::default, DetectorChoice::settings);
            let settings = Settings { max_memory: self.model.place.max_memory, ..trained };
            let options = GateOptions {
                facts_only: detector.is_none(),
                detector: detector.and_then(DetectorChoice::given),
                rules: self.rules.choice(),
                tree: None,
                tasks: Task::ALL.to_vec(),
                full: false,
                settings: settings.clone(),
                models: models.clone(),
            };
            let gate = match before {
                None => open_gate(options)?,
                Some(before) => before.gate.reopen(options)?,
            };
            for difference in gate.notes() {
                note(&format!("note: {difference} in training: verdicts near a threshold may differ"));
            }
            let mut resident = Resident { models: gate.scorers(), gate, settings };
            // a gate without a model of its own leaves those that were named for the other paths
            if resident.models.is_empty() && !models.models.is_empty() {
                resident.models = match before {
                    Some(before) => before.models.clone(),
                    None => models.load()?.into_iter().map(Into::into).collect(),
                };
            }
            Ok(resident)
        }
    }
}
