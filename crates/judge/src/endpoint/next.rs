//! Whether the numbers that a server tells are those of its tokens. What it calls the likeliest token of a place is put there: it must
//! then have the probability that was told of it. Some servers give each token the number of the place behind it, which no form shows.

use serde::Deserialize as _;
use serde_json::Value;

use super::{
    place::Placed,
    text::{Body, Told, Way, is_mark, placed},
};
use crate::failure::Failure;

/// Places that are tried, of which some are of no use: a token put there may be split otherwise.
const MOST_TRIED: usize = 6;

/// Places that decide.
const ENOUGH: usize = 3;

/// Nats that rounding in batches of another size may make; a token of another place is several away.
const ROUNDING: f64 = 0.5;

/// How far apart the two numbers of a token are, in nats, if they are not the same: the middle one of three places of the text. `answer`
/// is what was told of it behind the prompt, and `ask` asks about the n-th other one, prompt and all. None where they are the same or it
/// cannot be found out.
///
/// # Errors
/// What `ask` fails of.
pub(super) fn away(
    way: Way,
    answer: &Value,
    [prompt, text]: [&str; 2],
    ask: &mut dyn FnMut(usize, &str) -> Result<Value, Failure>,
) -> Result<Option<f64>, Failure> {
    let Some(first) = told_of(answer) else { return Ok(None) };
    let Ok((first, n_written)) = first.choice().and_then(|choice| choice.told(way)) else { return Ok(None) };
    let Ok(placed) = placed(&first, prompt, text, n_written) else { return Ok(None) };
    let mut apart = Vec::new();
    for (n, (place, other, log_prob)) in
        others(&first, &placed, &[prompt, text].concat()).into_iter().take(MOST_TRIED).enumerate()
    {
        if apart.len() == ENOUGH {
            break;
        }
        let answer = ask(n, &other)?;
        let Some(second) = told_of(&answer) else { continue };
        let Ok((second, _)) = second.choice().and_then(|choice| choice.told(way)) else { continue };
        let is_behind_the_same =
            second.len() > place && first[..place].iter().zip(&second).all(|(a, b)| a.text == b.text);
        let Some(told) =
            second.get(place).filter(|token| is_behind_the_same && token.text == first[place].likeliest.map(|of| of.0))
        else {
            continue;
        };
        apart.extend(told.log_prob.map(|again| (again - log_prob).abs()));
    }
    apart.sort_by(f64::total_cmp);
    Ok(apart.get(apart.len() / 2).copied().filter(|apart| *apart > ROUNDING))
}

fn told_of(answer: &Value) -> Option<Body> {
    Body::deserialize(answer).ok()
}

/// Texts that begin as the prompt with the text and go on with the likeliest token of a place of the text where another one stands: the
/// place, the text, and the log-probability of the token.
fn others(told: &[Told<'_>], placed: &Placed, whole: &str) -> Vec<(usize, String, f64)> {
    let of_place = |place: usize| {
        let (likeliest, log_prob) = told[place].likeliest?;
        let before = whole.get(..placed.n_bytes[..place].iter().sum())?;
        let is_text = !likeliest.is_empty() && !likeliest.contains('\u{fffd}') && !is_mark(likeliest);
        (is_text && told[place].text != Some(likeliest)).then(|| (place, format!("{before}{likeliest}"), log_prob))
    };
    placed.text.clone().filter_map(of_place).collect()
}
