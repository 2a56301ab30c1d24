//! `veridiff serve`: the gate, the scorer and the explanation behind HTTP. A feature of the program: without it the verb says how to
//! get it.

use std::{net::SocketAddr, path::PathBuf};

use clap::builder::NonEmptyStringValueParser;

use super::Exit;
use crate::cli::args::{
    JUDGING,
    rules::{FailOn, RuleArgs},
    scoring::ModelArgs,
};
use veridiff_engine::plan::parse_size;
use veridiff_text::sample::Task;

/// What `serve` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff serve                                        # for this machine alone
  veridiff serve --detector none                        # the change alone is asked: no model
  veridiff serve --listen 0.0.0.0:8443 --tokens tokens.toml --tls-cert chain.pem --tls-key key.pem
  veridiff serve --upstream http://localhost:8000/v1 --gateway attach  # before a generator
  veridiff serve --bot bot.toml --detector none         # a bot on GitHub or GitLab

VERIDIFF_SERVE_TOKEN holds one token, for a service with a single client, and VERIDIFF_UPSTREAM_KEY the key of a generator. SIGTERM
finishes what was accepted, SIGHUP reads tokens and detectors anew. docs/service.md has the interface, the limits, and what one machine
serves.";

/// The heading of options about who may ask.
const ACCESS: &str = "Access";
/// The heading of options about how much is taken.
const LIMITS: &str = "Limits";

/// The heading of options about code hosts.
const HOSTS: &str = "Code hosts";

/// The heading of options about a generator behind the service.
const GATEWAY: &str = "Gateway";

/// What becomes of a verdict on a generator's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Gateway {
    /// It is counted and logged, and the client gets the generator's bytes
    Observe,
    /// It stands in the answer, as one field more
    Attach,
    /// An answer that fails is refused; those that are checked come whole
    Refuse,
}

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
    /// Tell what clients send, too, with -v: whole bodies, but those of webhooks and forms
    #[arg(long, help_heading = ACCESS)]
    log_texts: bool,
    /// Stand before this generator, a server that speaks OpenAI's protocol: what the service does not own passes to it. The address is
    /// the one before /chat/completions, such as http://localhost:8000/v1
    #[arg(long, value_name = "URL", help_heading = GATEWAY)]
    upstream: Option<String>,
    /// What becomes of the verdict on an answer whose request names a change
    #[arg(long, value_name = "MODE", value_enum, default_value = "observe", help_heading = GATEWAY)]
    gateway: Gateway,
    /// Look for a diff in prompts too, between these two markers
    #[arg(long, value_names = ["BEGIN", "END"], num_args = 2, value_parser = NonEmptyStringValueParser::new(),
          help_heading = GATEWAY)]
    diff_between: Option<Vec<String>>,
    /// What a generator's answers are, unless a request says it [default: review]
    #[arg(long, value_parser = Task::ALL.map(Task::name), help_heading = GATEWAY)]
    task: Option<String>,
    /// The verdict from which on `--gateway refuse` refuses an answer: contradicted, unsupported or abstain; or codes of rules, with
    /// commas [default: unsupported]
    #[arg(long, value_name = "VERDICT|CODES", help_heading = GATEWAY)]
    fail_on: Option<FailOn>,
    /// Seconds that a generator may take to begin its answer, and between two parts of it
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds, help_heading = GATEWAY)]
    upstream_timeout: f64,
    /// Seconds that an answer waits for its verdict, where it waits for one
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = GATEWAY)]
    verdict_within: f64,
    /// Answer webhooks of GitHub and GitLab as this TOML file says: `/hooks/github`, `/hooks/gitlab`; docs/bots.md has a whole one
    #[arg(long, value_name = "FILE", help_heading = HOSTS)]
    bot: Option<PathBuf>,
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
    Err(crate::cli::terminal::UsageError::error(
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
    use std::{env, path::Path, sync::Arc, time::Duration};

    use super::{Args, Gateway};
    use crate::cli::{
        args::{
            change::{DetectorChoice, open_gate},
            rules::FailOn,
        },
        progress,
        terminal::{UsageError, note},
        verbs::Exit,
    };
    use veridiff_core::{gate::GateOptions, run::models::ModelOptions, settings::Settings};
    use veridiff_facts::verdict::Verdict;
    use veridiff_serve::{
        Certificate, GatewayOptions, Limits, Listen, Mode, Open, Resident, ServeError, Service, ServiceOptions,
        SharedHooks, TokenSource, pages::SharedPages, serve,
    };
    use veridiff_text::{chain::one_line, sample::Task};

    /// What holds one token.
    const TOKEN: &str = "VERIDIFF_SERVE_TOKEN";

    /// What holds the key of a generator.
    const UPSTREAM_KEY: &str = "VERIDIFF_UPSTREAM_KEY";

    pub fn run(args: Args) -> anyhow::Result<Exit> {
        let listen = Listen { address: args.listen, certificate: args.certificate() };
        let options = args.model.options()?;
        let workers = match (args.workers, args.model.place.max_memory) {
            (Some(n), _) => usize::from(n),
            // what one computes keeps within the bound, and not what several do
            (None, Some(_)) => 1,
            (None, None) => rayon::current_num_threads(),
        };
        let bot = args.bot.as_deref().map(Bot::open).transpose()?;
        let service = ServiceOptions {
            limits: args.limits(),
            tokens: TokenSource { file: args.tokens.clone(), plain: env::var(TOKEN).ok() },
            workers,
            tells_texts: args.log_texts,
            audit: args.audit.clone(),
            traces: args.otlp.clone(),
            gateway: args.gateway_options(),
            hooks: bot.as_ref().map(Bot::hooks),
            pages: bot.as_ref().map(Bot::pages),
        };
        let service = progress::waiting("loading", || Service::start(service, args.open(options))).map_err(told)?;
        if let Some(bot) = &bot {
            bot.start(&service)?;
        }
        let scheme = if listen.certificate.is_some() { "https" } else { "http" };
        serve(&service, &listen, |address| note(&format!("listening at {scheme}://{address}"))).map_err(told)?;
        note("stopped");
        Ok(Exit::Done)
    }

    /// The bot of a service.
    #[cfg(feature = "bots")]
    struct Bot(Arc<veridiff_bots::Bot>);

    #[cfg(feature = "bots")]
    impl Bot {
        fn open(file: &Path) -> anyhow::Result<Bot> {
            let config = veridiff_bots::Config::read(file, &|name| env::var(name).ok())?;
            Ok(Bot(veridiff_bots::Bot::open(config)?))
        }

        fn hooks(&self) -> SharedHooks {
            SharedHooks(Arc::clone(&self.0) as _)
        }

        fn pages(&self) -> SharedPages {
            SharedPages(Arc::clone(&self.0) as _)
        }

        fn start(&self, service: &Arc<Service>) -> anyhow::Result<()> {
            Ok(self.0.start(service)?)
        }
    }

    /// The bot of a program that has none.
    #[cfg(not(feature = "bots"))]
    enum Bot {}

    #[cfg(not(feature = "bots"))]
    impl Bot {
        fn open(_: &Path) -> anyhow::Result<Bot> {
            Err(UsageError::error(
                "this program was built without its bot",
                "build it with `cargo build --release --features bots`",
            ))
        }

        fn hooks(&self) -> SharedHooks {
            match *self {}
        }

        fn pages(&self) -> SharedPages {
            match *self {}
        }

        fn start(&self, _: &Arc<Service>) -> anyhow::Result<()> {
            match *self {}
        }
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

        fn gateway_options(&self) -> Option<GatewayOptions> {
            let fail_on = self.fail_on.clone().unwrap_or(FailOn::Verdict(Verdict::Unsupported));
            let markers = self.diff_between.as_deref().and_then(|markers| match markers {
                [begin, end] => Some((begin.clone(), end.clone())),
                _ => None,
            });
            Some(GatewayOptions {
                upstream: self.upstream.clone()?,
                key: env::var(UPSTREAM_KEY).ok().filter(|key| !key.is_empty()),
                mode: match self.gateway {
                    Gateway::Observe => Mode::Observe,
                    Gateway::Attach => Mode::Attach,
                    Gateway::Refuse => Mode::Refuse,
                },
                markers,
                task: self.task.as_deref().and_then(Task::from_name).unwrap_or_default(),
                refuses: Arc::new(move |finding| fail_on.is_met(finding)),
                patience: Duration::from_secs_f64(self.upstream_timeout),
                verdict_within: Duration::from_secs_f64(self.verdict_within),
            })
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
                scorer: None,
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
