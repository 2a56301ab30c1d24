//! A bot: it takes webhooks, and a thread of its own does the jobs that came of them, one after the other.

use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use veridiff_serve::{Delivery, Hooks, Platform, Service, Taken, refusal::Refusal};
use veridiff_text::chain::one_line;

use crate::{
    config::{BotError, Config, SiteConfig},
    github::GitHub,
    gitlab::GitLab,
    incoming::{self, Secret},
    labels,
    remote::Remote,
    store::{Job, Kept, MOST_TRIES, Store, StoreError},
};

/// The longest that nobody looks whether a job may be begun.
const LOOK: Duration = Duration::from_secs(5);

/// How long a job waits after its first failure; after each further one twice as long, and never longer than [`LONGEST`].
const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(3600);

/// A bot: it takes webhooks, and works on what they name.
pub struct Bot {
    pub(crate) store: Store,
    pub(crate) sites: Vec<Site>,
    /// Whether something came since the worker looked.
    has_come: Mutex<bool>,
    came: Condvar,
}

/// A host with what is done there.
pub(crate) struct Site {
    pub config: SiteConfig,
    token: Secret,
    pub remote: Box<dyn Remote>,
}

impl Bot {
    /// A bot by its file, with its database, which is made if it is not there.
    ///
    /// # Errors
    /// [`BotError::Store`].
    pub fn open(config: Config) -> Result<Arc<Bot>, BotError> {
        let store = Store::open(&config.database)?;
        let sites = config.sites.into_iter().map(|(config, login, secret)| {
            let pause = config.pause;
            let remote: Box<dyn Remote> = match config.platform {
                Platform::GitHub => Box::new(GitHub { login, pause }),
                Platform::GitLab => Box::new(GitLab { login, pause }),
            };
            Site { config, token: secret, remote }
        });
        Ok(Arc::new(Bot { store, sites: sites.collect(), has_come: Mutex::new(false), came: Condvar::new() }))
    }

    /// Works on what comes, by a thread of its own, for as long as the service takes requests.
    ///
    /// # Errors
    /// That of the system, which gives no thread.
    pub fn start(self: &Arc<Self>, service: &Arc<Service>) -> std::io::Result<()> {
        let (bot, service) = (Arc::clone(self), Arc::clone(service));
        let working = move || {
            while service.is_ready() {
                bot.work(&service);
                let has_come = bot.has_come.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = bot.came.wait_timeout_while(has_come, LOOK, |has_come| !*has_come);
                *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
            }
        };
        thread::Builder::new().name("bot".to_owned()).spawn(working).map(drop)
    }

    /// Does every job that may be begun now.
    pub fn work(&self, service: &Service) {
        while service.is_ready() {
            match self.store.next() {
                Ok(Some(job)) => self.one(service, &job),
                Ok(None) => break,
                Err(error) => return tracing::error!("the bot cannot work: {}", one_line(&error)),
            }
        }
        if let Err(error) = self.store.forget() {
            tracing::error!("the bot cannot forget: {}", one_line(&error));
        }
    }

    fn one(&self, service: &Service, job: &Job) {
        let Job { platform, repository, number, .. } = job;
        let site = self.sites.iter().find(|site| site.config.platform.name() == platform);
        // the file may have changed since the job was kept
        let done = match site.filter(|site| site.config.has(repository)) {
            None => Ok(()),
            Some(site) if job.push.is_empty() => self.request(service, site, job),
            Some(site) => self.push(service, site, job),
        };
        let kept = match done {
            Ok(()) => self.store.end(job, None),
            Err(problem) => {
                let told = problem.told();
                if problem.is_of_host() || problem.may_pass() && job.tries < MOST_TRIES {
                    let wait = problem.wait().unwrap_or_else(|| patience(job.tries));
                    tracing::warn!(platform, repository, number, "tried again in {} s: {told}", wait.as_secs());
                    self.store.later(job, wait, problem.is_of_host(), &told)
                } else {
                    tracing::error!(platform, repository, number, "given up: {told}");
                    self.store.end(job, Some(&told))
                }
            }
        };
        if let Err(error) = kept {
            tracing::error!("the bot cannot keep what it did: {}", one_line(&error));
        }
    }

    /// Has the worker look whether a job may be begun.
    pub(crate) fn wake(&self) {
        *self.has_come.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.came.notify_one();
    }

    /// What a resolved thread says of its comment, by host.
    pub(crate) fn resolved_is(&self) -> HashMap<&str, Option<u8>> {
        self.sites.iter().map(|site| (site.config.platform.name(), site.config.resolved_is)).collect()
    }

    fn keep(&self, names: &[String], platform: Platform, repository: &str, kept: &Kept) -> Result<Taken, Refusal> {
        let is_new = self.store.keep(names, platform, repository, kept).map_err(|error| fault(&error))?;
        if is_new && kept.job.is_some() {
            self.wake();
        }
        Ok(if is_new { Taken::Kept } else { Taken::Known })
    }
}

impl Hooks for Bot {
    fn take(&self, delivery: &Delivery<'_>) -> Result<Taken, Refusal> {
        let site = self.sites.iter().find(|site| site.config.platform == delivery.platform).ok_or(Refusal::NotFound)?;
        if !incoming::is_signed(&site.config, delivery, &site.token) {
            return Err(Refusal::Signature);
        }
        let Some((repository, kept)) = incoming::kept(&site.config, delivery)? else { return Ok(Taken::Ignored) };
        self.keep(&incoming::names(delivery), delivery.platform, &repository, &kept)
    }

    fn labels(&self) -> Result<String, Refusal> {
        let resolved_is = self.resolved_is();
        let all = self.store.all().map_err(|error| fault(&error))?;
        let samples = all
            .iter()
            .filter_map(|told| labels::sample(told, resolved_is.get(told.platform.as_str()).copied().flatten()));
        Ok(samples.map(|sample| format!("{sample}\n")).collect())
    }
}

fn fault(error: &StoreError) -> Refusal {
    tracing::error!("the bot cannot keep: {}", one_line(error));
    Refusal::Fault
}

/// How long a job waits that was tried so often.
fn patience(tries: u32) -> Duration {
    (FIRST * 2_u32.saturating_pow(tries.saturating_sub(1).min(16))).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_waits_longer_each_time_and_an_hour_at_most() {
        let seconds: Vec<u64> = [1, 2, 3, 9, 10, MOST_TRIES].map(|tries| patience(tries).as_secs()).to_vec();
        assert_eq!(seconds, [10, 20, 40, 2560, 3600, 3600]);
    }
}
