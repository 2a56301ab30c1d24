//! One sample by one strategy: repeats, and attempts at a readable answer.

use veridiff_text::{named, sample::Sample};

use crate::{
    backend::{Backend, Message, Reply, Request, Role, Usage, token_at},
    cost::Amount,
    failure::{Failure, JudgeError, Kind},
    levels::{DIGITS, Levels},
    panel::Rule,
    parse::{JudgeVerdict, parse},
    prompts::{JudgePrompt, PromptSet, Strategy},
    recorder::Recorder,
};

/// Attempts at a readable answer in one run.
const MAX_ATTEMPTS: u32 = 3;

/// Most tokens of an answer after several that were too short.
const MAX_OUTPUT: u32 = 8192;

/// Where the score is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreReading {
    /// The probabilities of the digits where the score stands.
    Digits,
    /// The score as it is written.
    Text,
}

named!(ScoreReading, "reading", "digits" => Digits, "text" => Text);

/// How a judge works.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The strategies, in the order of the columns; with a cascade the first is for all rows.
    pub strategies: Vec<Strategy>,
    /// Where scores are read from.
    pub reading: ScoreReading,
    /// A text is flagged from this score on.
    pub threshold: u8,
    /// 0 takes the most probable token each time.
    pub temperature: f64,
    /// The seed of the first repeat; each further one has the next.
    pub seed: u64,
    /// How often each request is made.
    pub repeats: u32,
    /// Whether reasons are wanted where digits could be read without.
    pub explain: bool,
    /// Most tokens of an answer.
    pub max_output: u32,
    /// The further strategies are only for rows whose first probability of being flagged lies within these, both included.
    pub cascade: Option<(f64, f64)>,
    /// How several strategies decide together.
    pub panel: Rule,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            strategies: vec![Strategy::Direct],
            reading: ScoreReading::Text,
            threshold: 1,
            temperature: 0.0,
            seed: 0,
            repeats: 1,
            explain: false,
            max_output: 1024,
            cascade: None,
            panel: Rule::Majority,
        }
    }
}

/// That a temperature is one.
///
/// # Errors
/// [`JudgeError::Settings`].
pub(crate) fn check_temperature(temperature: f64) -> Result<(), JudgeError> {
    match temperature.is_finite() && temperature >= 0.0 {
        true => Ok(()),
        false => Err(JudgeError::settings("the temperature is no number from 0 on", "such as --temperature 0.7")),
    }
}

impl Settings {
    /// Whether they go together, whoever is asked.
    ///
    /// # Errors
    /// [`JudgeError::Settings`].
    pub fn check(&self) -> Result<(), JudgeError> {
        let error = |problem: &str, hint: &str| Err(JudgeError::settings(problem, hint));
        check_temperature(self.temperature)?;
        if self.strategies.is_empty() {
            return error("no strategy is named", "such as --strategy direct");
        }
        if self.repeats == 0 {
            return error("no request would be made", "ask for at least one of --repeats");
        }
        if self.max_output == 0 {
            return error("no answer could be written", "give a --max-output above 0");
        }
        if !(1..=4).contains(&self.threshold) {
            return error(
                "the threshold is no score from 1 to 4",
                "1 flags a text with anything that is not supported",
            );
        }
        if self.cascade.is_some_and(|(low, high)| !(0.0 <= low && low <= high && high <= 1.0)) {
            return error("the cascade's bounds are not 0 <= LO <= HI <= 1", "such as --cascade 0.2,0.8");
        }
        if self.cascade.is_some() && self.strategies.len() < 2 {
            return error("a cascade needs a second strategy", "such as --strategy direct,tree");
        }
        let n = self.strategies.len();
        if matches!(self.panel, Rule::Quorum(quorum) if quorum == 0 || quorum > n) {
            return error(&format!("the quorum is not from 1 to {n}"), "it counts strategies");
        }
        Ok(())
    }

    /// Whether a strategy's answer is the score alone.
    pub fn is_brief(&self, strategy: Strategy) -> bool {
        self.reading == ScoreReading::Digits && !self.explain && strategy.can_be_brief()
    }
}

/// A backend, what it is asked, and how.
#[derive(Debug)]
pub struct Judge {
    recorder: Recorder,
    set: PromptSet,
    settings: Settings,
}

/// What the answer begins with where its score alone is asked for, and a backend can be made to begin so.
const PREFIX: &str = r#"{"answer": "#;

/// A readable answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// What the judge said; where nothing was written, the most probable score.
    pub verdict: JudgeVerdict,
    /// Whether the score was written, and not only its digits' probabilities read.
    pub is_written: bool,
    /// The probabilities of the scores, where they are what is read.
    pub levels: Option<Levels>,
}

impl Scored {
    /// The score, 0 to 4.
    pub fn score(&self) -> f64 {
        self.levels.map_or(f64::from(self.verdict.answer), |levels| levels.expected())
    }

    /// The probability that the score is at least `threshold`; of a text 0 or 1.
    pub fn p(&self, threshold: u8) -> f64 {
        let written = f64::from(u8::from(self.verdict.answer >= threshold));
        self.levels.map_or(written, |levels| levels.at_least(threshold))
    }
}

/// What asking took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Replies, those of failed attempts included.
    pub n_replies: u64,
    /// Their tokens, so far as they say.
    pub usage: Usage,
    /// Their cost, so far as they say and prices are known.
    pub cost: Amount,
    /// Replies that do not say their tokens.
    pub n_silent: u64,
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.n_replies += other.n_replies;
        self.usage += other.usage;
        self.cost += other.cost;
        self.n_silent += other.n_silent;
    }
}

/// A sample by one strategy.
#[derive(Debug, Clone, Default)]
pub struct JudgedSample {
    /// What each repeat came to.
    pub outcomes: Vec<Result<Scored, Failure>>,
    /// What it took.
    pub spent: Spent,
    /// What a reader of the table should know of the data.
    pub note: Option<String>,
    /// Requests that ended without a verdict, with the attempts that there were.
    pub given_up: Vec<(Request, u32)>,
}

impl JudgedSample {
    /// The readable answers, if they are more than half of the repeats.
    pub fn scored(&self) -> Option<Vec<&Scored>> {
        let scored: Vec<&Scored> = self.outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
        (scored.len() > self.outcomes.len() / 2).then_some(scored)
    }

    /// The first failure.
    pub fn failure(&self) -> Option<&Failure> {
        self.outcomes.iter().find_map(|outcome| outcome.as_ref().err())
    }

    /// The mean of the repeats' probabilities of being flagged.
    pub fn p(&self, threshold: u8) -> Option<f64> {
        self.scored().map(|scored| mean(scored.iter().map(|scored| scored.p(threshold))))
    }

    /// The mean of the repeats' scores.
    pub fn score(&self) -> Option<f64> {
        self.scored().map(|scored| mean(scored.iter().map(|scored| scored.score())))
    }
}

/// The mean; NaN of nothing.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    sum / n
}

impl Judge {
    /// A judge, if its settings go together with what the backend gives and the set has.
    ///
    /// # Errors
    /// [`JudgeError::Settings`].
    pub fn new(recorder: Recorder, set: PromptSet, settings: Settings) -> Result<Judge, JudgeError> {
        let error = |problem: String, hint: &str| Err(JudgeError::settings(problem, hint));
        settings.check()?;
        let Settings { strategies, reading, repeats, .. } = &settings;
        if let Some(missing) = strategies.iter().find(|strategy| !set.has(**strategy)) {
            return error(
                format!("the prompt set `{}` has no strategy `{missing}`", set.name()),
                "leave the strategy out, or add it to the file",
            );
        }
        if *reading == ScoreReading::Digits && !recorder.abilities().log_probs {
            return error(
                format!("`{}` gives no log-probabilities that can be read, so digits cannot", recorder.name()),
                "use --reading text",
            );
        }
        if *repeats > 1 && strategies.iter().all(|strategy| settings.is_brief(*strategy)) {
            return error(
                "the probabilities of one digit are the same each time, so there is nothing to repeat".to_owned(),
                "use --reading text or --explain, or leave --repeats out",
            );
        }
        Ok(Judge { recorder, set, settings })
    }

    /// What answers.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// What it is asked.
    pub fn set(&self) -> &PromptSet {
        &self.set
    }

    /// How it works.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The first request about a sample.
    pub fn request(&self, sample: &Sample, strategy: Strategy, repeat: u32) -> Request {
        let prompt = self.set.prompt(sample, strategy, self.settings.is_brief(strategy));
        self.first(&prompt, repeat)
    }

    fn first(&self, prompt: &JudgePrompt, repeat: u32) -> Request {
        let digits = self.settings.reading == ScoreReading::Digits;
        Request {
            messages: prompt.messages.clone(),
            schema: Some(prompt.schema.clone()),
            max_output: self.settings.max_output,
            temperature: self.settings.temperature,
            seed: self.settings.seed,
            wanted: if digits { DIGITS.map(str::to_owned).to_vec() } else { Vec::new() },
            repeat,
            ..Request::of_user("", 0)
        }
    }

    /// Judges a sample.
    pub fn judge(&self, sample: &Sample, strategy: Strategy) -> JudgedSample {
        let prompt = self.set.prompt(sample, strategy, self.settings.is_brief(strategy));
        let mut judgement = JudgedSample { note: prompt.note.clone(), ..JudgedSample::default() };
        let is_choice = self.settings.is_brief(strategy) && self.recorder.abilities().forces_prefix;
        for repeat in 0..self.settings.repeats {
            let first = self.first(&prompt, repeat);
            let outcome = match is_choice {
                true => self.choose(&first, &mut judgement.spent),
                false => self.repeat(first, &mut judgement),
            };
            judgement.outcomes.push(outcome);
        }
        judgement
    }

    /// Reads the digits' probabilities where the score would stand, without an answer.
    fn choose(&self, request: &Request, spent: &mut Spent) -> Result<Scored, Failure> {
        let choice = self.recorder.choose(request, PREFIX, &request.wanted)?;
        self.pay(choice.usage, spent);
        let probabilities: Vec<f64> = choice.log_probs.iter().map(|p| p.map_or(0.0, f64::exp)).collect();
        let levels = Levels::of(&probabilities)?;
        let verdict = JudgeVerdict::of_score(levels.most_probable());
        Ok(Scored { verdict, is_written: false, levels: Some(levels) })
    }

    /// Asks until there is a readable answer. All replies that are there already are read again in their order, so that a better
    /// reader costs nothing; those of earlier runs that gave up do not count as attempts of this one.
    fn repeat(&self, first: Request, judgement: &mut JudgedSample) -> Result<Scored, Failure> {
        let n_given_up = self.recorder.n_given_up(&first);
        let mut request = first.clone();
        // how many unreadable answers there were since the beginning or since a round of attempts was over
        let mut n_unreadable = 0;
        let mut last = None;
        for attempt in 0.. {
            request.attempt = attempt;
            let reply = match self.recorder.complete(&request) {
                Ok(reply) => reply,
                Err(failure) if failure.kind == Kind::NotRecorded => return Err(last.unwrap_or(failure)),
                Err(failure) => return Err(failure),
            };
            self.pay(reply.usage, &mut judgement.spent);
            let failure = match self.scored(&reply) {
                Ok(scored) => return Ok(scored),
                Err(failure) => failure,
            };
            n_unreadable += 1;
            let is_over = !failure.kind.is_of_content() || n_unreadable == MAX_ATTEMPTS;
            if is_over && attempt >= n_given_up {
                judgement.given_up.push((first, attempt + 1));
                return Err(failure);
            }
            if is_over {
                n_unreadable = 0;
            }
            request = next(&first, request, &reply, &failure, n_unreadable);
            last = Some(failure);
        }
        unreachable!("a round of attempts ends")
    }

    fn pay(&self, usage: Option<Usage>, spent: &mut Spent) {
        spent.n_replies += 1;
        match usage {
            None => spent.n_silent += 1,
            Some(usage) => {
                spent.usage += usage;
                spent.cost += self.recorder.prices().map(|prices| prices.of(usage)).unwrap_or_default();
            }
        }
    }

    fn scored(&self, reply: &Reply) -> Result<Scored, Failure> {
        let verdict = parse(reply)?;
        let levels = match self.settings.reading {
            ScoreReading::Text => None,
            ScoreReading::Digits => Some(Levels::at(token_at(reply, verdict.answer_at)?, verdict.answer)?),
        };
        Ok(Scored { verdict, is_written: true, levels })
    }
}

/// The request after one whose answer could not be read.
fn next(first: &Request, asked: Request, reply: &Reply, failure: &Failure, n_unreadable: u32) -> Request {
    let max_output = match failure.kind {
        Kind::Truncated => (asked.max_output * 2).min(MAX_OUTPUT).max(asked.max_output),
        _ => asked.max_output,
    };
    let mut request = Request { max_output, ..first.clone() };
    match n_unreadable {
        // the model sees what was wrong
        1 if !reply.content.trim().is_empty() => {
            let complaint = format!(
                "Your reply was not the JSON object asked for: {}. Answer with the object only.",
                failure.message
            );
            request.messages.push(Message::new(Role::Assistant, reply.content.clone()));
            request.messages.push(Message::new(Role::User, complaint));
        }
        // a schema that the server enforces badly can be what is wrong
        2 => request.schema = None,
        _ => {}
    }
    request
}
