//! What replies cost, without rounding, and the bound on it.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use serde::Deserialize;

use crate::{
    backend::{Request, Usage},
    failure::{Failure, JudgeError, Kind},
};

/// Nano-units in a unit of a currency.
const NANO: u128 = 1_000_000_000;

/// Tokens that a message has around its text at most: its role and its marks.
const TOKENS_AROUND_MESSAGE: u64 = 16;

/// Bytes that make a token of code or prose, about: only for estimates that are called so.
pub const BYTES_PER_TOKEN: f64 = 3.5;

/// Prices of tokens as a provider writes them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceList {
    input: f64,
    /// As much as `input` if it is not given.
    cached_input: Option<f64>,
    output: f64,
    #[serde(default = "million")]
    per: u64,
    #[serde(default = "usd")]
    currency: String,
}

fn million() -> u64 {
    1_000_000
}

fn usd() -> String {
    "USD".to_owned()
}

/// Prices of tokens, as whole nano-units for [`Prices::per`] tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PriceList")]
pub struct Prices {
    input: u128,
    cached_input: u128,
    output: u128,
    /// So many tokens cost the prices.
    pub per: u64,
    /// The currency, for a person.
    pub currency: String,
}

/// An amount of money in nano-units, times [`Prices::per`]: sums of it are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Amount(u128);

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.0 += other.0;
    }
}

/// A price in nano-units: its decimal digits, as a person wrote them, and not the float's.
fn nano(price: f64) -> Result<u128, String> {
    let bad = || format!("the price {price} is not a number from 0 with at most nine decimals");
    if !price.is_finite() || !(0.0..1e9).contains(&price) {
        return Err(bad());
    }
    let text = format!("{price}");
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let digits = format!("{decimals:0<9}");
    if digits.len() > 9 {
        return Err(bad());
    }
    let (whole, decimals) = (whole.parse::<u128>(), digits.parse::<u128>());
    Ok(whole.map_err(|_| bad())? * NANO + decimals.map_err(|_| bad())?)
}

impl TryFrom<PriceList> for Prices {
    type Error = String;

    fn try_from(list: PriceList) -> Result<Prices, String> {
        if list.per == 0 {
            return Err("`per` is 0 tokens".to_owned());
        }
        Ok(Prices {
            input: nano(list.input)?,
            cached_input: nano(list.cached_input.unwrap_or(list.input))?,
            output: nano(list.output)?,
            per: list.per,
            currency: list.currency,
        })
    }
}

impl Prices {
    /// What a reply costs. Hidden reasoning is part of the output.
    pub fn of(&self, usage: Usage) -> Amount {
        let cached = usage.cached_input.min(usage.input);
        let fresh = u128::from(usage.input - cached);
        let cached = u128::from(cached);
        Amount(fresh * self.input + cached * self.cached_input + u128::from(usage.output) * self.output)
    }

    /// The most that a request can cost, whatever its tokenizer: a token is at least a byte.
    pub fn at_most(&self, request: &Request, most_output: u32) -> Amount {
        let around = TOKENS_AROUND_MESSAGE * (request.messages.len() as u64 + 1);
        let schema = request.schema.as_ref().map_or(0, |schema| schema.to_string().len() as u64);
        let input = request.n_bytes() as u64 + around + schema;
        self.of(Usage { input, output: u64::from(most_output), ..Usage::default() })
    }

    /// An amount in units of the currency.
    pub fn units(&self, amount: Amount) -> f64 {
        amount.0 as f64 / (self.per as f64 * NANO as f64)
    }

    /// An amount of the currency's units, as a person writes it.
    ///
    /// # Errors
    /// It is no amount.
    pub fn amount(&self, units: f64) -> Result<Amount, String> {
        Ok(Amount(nano(units)? * u128::from(self.per)))
    }
}

/// Money that is spent, and that which requests under way may cost.
#[derive(Debug)]
pub struct Purse {
    prices: Option<Prices>,
    limit: Option<Amount>,
    /// What replies have cost, and what open requests may cost at most.
    spent: Mutex<Amount>,
    /// How many requests may still be made.
    calls: Option<AtomicU64>,
}

impl Purse {
    /// A purse that is empty at `max_cost` units of the currency.
    ///
    /// # Errors
    /// There is a bound and no price, or the bound is no amount.
    pub fn new(prices: Option<Prices>, max_cost: Option<f64>) -> Result<Purse, JudgeError> {
        let limit = match (max_cost, &prices) {
            (None, _) => None,
            (Some(_), None) => {
                return Err(JudgeError::settings(
                    "the cost is bounded, and the price of a token is not known",
                    "name the backend by a .toml with price = { input = …, output = … }, for a million tokens each",
                ));
            }
            (Some(most), Some(prices)) => Some(prices.amount(most).map_err(|problem| {
                JudgeError::settings(problem, "give the bound in units of the currency, such as 2.50")
            })?),
        };
        Ok(Purse { prices, limit, spent: Mutex::default(), calls: None })
    }

    /// The same with a bound on how many requests are made from now on.
    pub fn with_most_calls(self, most: Option<u64>) -> Purse {
        Purse { calls: most.map(AtomicU64::new), ..self }
    }

    /// The prices, if they are known.
    pub fn prices(&self) -> Option<&Prices> {
        self.prices.as_ref()
    }

    fn spent(&self) -> std::sync::MutexGuard<'_, Amount> {
        self.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Counts what an earlier run paid.
    pub fn count(&self, usage: Usage) {
        if let Some(prices) = &self.prices {
            *self.spent() += prices.of(usage);
        }
    }

    /// Lays aside what a request can cost at most, if so many tokens may be written.
    ///
    /// # Errors
    /// [`Kind::Budget`] if that could exceed the bound, or no more requests may be made.
    pub fn lay_aside(&self, request: &Request, most_output: u32) -> Result<Amount, Failure> {
        let aside = self.money(request, most_output)?;
        let one_less = |left: u64| left.checked_sub(1);
        let is_allowed = |calls: &AtomicU64| calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok();
        if self.calls.as_ref().is_none_or(is_allowed) {
            return Ok(aside);
        }
        self.settle(aside, None);
        Err(Failure::new(Kind::Budget, "as many requests are made as may be in one run"))
    }

    fn money(&self, request: &Request, most_output: u32) -> Result<Amount, Failure> {
        let Some(prices) = &self.prices else { return Ok(Amount::default()) };
        let most = prices.at_most(request, most_output);
        let mut spent = self.spent();
        if self.limit.is_some_and(|limit| spent.0 + most.0 > limit.0) {
            let (so_far, more) = (prices.units(*spent), prices.units(most));
            let currency = &prices.currency;
            let message = format!("{so_far:.6} {currency} are spent or laid aside, and this could cost {more:.6} more");
            return Err(Failure::new(Kind::Budget, message));
        }
        *spent += most;
        Ok(most)
    }

    /// Puts back what was laid aside, and pays what a request did cost: nothing if it got no reply, all that was laid aside if the
    /// reply does not say.
    pub fn settle(&self, aside: Amount, reply: Option<Option<Usage>>) {
        let Some(prices) = &self.prices else { return };
        let cost = match reply {
            None => Amount::default(),
            Some(None) => aside,
            Some(Some(usage)) => prices.of(usage),
        };
        let mut spent = self.spent();
        spent.0 = spent.0 - aside.0 + cost.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(text: &str) -> Result<Prices, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn sums_are_exact() {
        let prices = prices("input = 1.25\ncached_input = 0.125\noutput = 10.0").unwrap();
        let usage = Usage { input: 1000, cached_input: 400, output: 90, reasoning: 64 };
        // 600 fresh, 400 cached, 90 out, by hand: (750 + 50 + 900) millionths
        assert_eq!(prices.of(usage), Amount((600 * 125 * 10 + 400 * 125 + 90 * 10_000) * (NANO / 1000)));
        assert_eq!(prices.units(prices.of(usage)), 0.0017);
        let mut sum = Amount::default();
        (0..10_000).for_each(|_| sum += prices.of(usage));
        assert_eq!(prices.units(sum), 17.0);
        // the digits as they are written: 0.1 is not the float beside it
        assert_eq!(prices.amount(0.1).unwrap(), Amount(100_000_000 * 1_000_000));
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for text in ["input = -1\noutput = 1", "input = nan\noutput = 1", "input = 1\noutput = 1\nper = 0", "input = 1"]
        {
            assert!(prices(text).is_err(), "{text}");
        }
        assert!(prices("input = 0.0000000001\noutput = 1").is_err(), "ten decimals");
        assert!(Purse::new(None, Some(1.0)).unwrap_err().hint().unwrap().contains("price"));
    }

    #[test]
    fn a_request_that_could_exceed_the_bound_is_not_asked() {
        // a unit a token: 3 bytes, 32 around and 5 out are 40 at most
        let one = prices("input = 1\noutput = 1\nper = 1\ncurrency = \"tokens\"").unwrap();
        let purse = Purse::new(Some(one.clone()), Some(100.0)).unwrap();
        let request = Request::of_user("abc", 5);
        assert_eq!(one.units(one.at_most(&request, 5)), 40.0);
        let (first, second) = (purse.lay_aside(&request, 5).unwrap(), purse.lay_aside(&request, 5).unwrap());
        let error = purse.lay_aside(&request, 5).unwrap_err();
        assert_eq!(error.kind, Kind::Budget);
        assert!(error.message.contains("80.000000 tokens") && error.message.contains("40.000000 more"), "{error}");
        // one cost 12, the other got no reply
        purse.settle(first, Some(Some(Usage { input: 10, output: 2, ..Usage::default() })));
        purse.settle(second, None);
        assert_eq!(one.units(*purse.spent()), 12.0);
        let (third, _fourth) = (purse.lay_aside(&request, 5).unwrap(), purse.lay_aside(&request, 5).unwrap());
        assert!(purse.lay_aside(&request, 5).is_err());
        // a reply that does not say its usage costs what was laid aside
        purse.settle(third, Some(None));
        assert_eq!(one.units(*purse.spent()), 92.0);
    }

    #[test]
    fn only_so_many_requests_are_made() {
        let purse = Purse::new(None, None).unwrap().with_most_calls(Some(2));
        let ask = || purse.lay_aside(&Request::of_user("?", 1), 1);
        assert!(ask().is_ok() && ask().is_ok());
        assert_eq!(ask().unwrap_err().kind, Kind::Budget);
        // what was refused for their number costs nothing
        let priced = Purse::new(Some(prices("input = 1\noutput = 1\nper = 1").unwrap()), Some(1000.0)).unwrap();
        let priced = priced.with_most_calls(Some(0));
        assert!((0..100).all(|_| priced.lay_aside(&Request::of_user("?", 1), 1).is_err()));
        assert_eq!(*priced.spent(), Amount::default());
    }
}
