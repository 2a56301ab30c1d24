//! Small pictures: shares between 0 and 1 as points with their intervals, over weeks or over probabilities. Colours are the page's.

use jiff::civil::Date;
use serde::Serialize;
use veridiff_detector::Interval;

/// The sides of a picture, and of what stands around its field, in the units of its view.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 34.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 22.0;

/// Weeks at most: of more the last.
const MOST_WEEKS: i32 = 26;

/// A picture.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    name: &'static str,
    title: String,
    width: f64,
    height: f64,
    /// The field: left, top, right, bottom.
    field: [f64; 4],
    /// Where what is true would lie: from one corner to the other.
    has_diagonal: bool,
    x: Vec<Tick>,
    y: Vec<Tick>,
    series: Vec<Series>,
}

#[derive(Debug, Serialize)]
struct Tick {
    at: f64,
    text: String,
    anchor: &'static str,
}

/// Points of one kind, by a class that the style knows.
#[derive(Debug, Serialize)]
struct Series {
    class: &'static str,
    name: &'static str,
    path: String,
    points: Vec<Mark>,
}

#[derive(Debug, Serialize)]
struct Mark {
    x: f64,
    y: f64,
    low: f64,
    high: f64,
    says: String,
}

/// A share with its interval, at a place between 0 and 1.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub x: f64,
    pub share: f64,
    pub interval: Interval,
    pub says: String,
}

/// A share of a week.
#[derive(Debug, Clone)]
pub(super) struct OfWeek {
    pub week: Date,
    pub share: f64,
    pub interval: Interval,
    pub says: String,
}

/// Shares over weeks; each series by its class, its name and its weeks, rising.
pub(super) fn over_weeks(
    name: &'static str,
    title: &str,
    all: Vec<(&'static str, &'static str, Vec<OfWeek>)>,
) -> Option<Chart> {
    let weeks = || all.iter().flat_map(|(.., weeks)| weeks.iter().map(|of| of.week));
    let (first, last) = (weeks().min()?, weeks().max()?);
    let between = |a: Date, b: Date| (b - a).get_days() / 7;
    let n = between(first, last).min(MOST_WEEKS - 1);
    let place = |week: Date| {
        let before = between(week, last);
        // one week alone stands in the middle
        (before <= n).then(|| if n == 0 { 0.5 } else { f64::from(n - before) / f64::from(n) })
    };
    let series = all.iter().map(|(class, name, weeks)| {
        let point = |of: &OfWeek| {
            Some(Point { x: place(of.week)?, share: of.share, interval: of.interval, says: of.says.clone() })
        };
        (*class, *name, weeks.iter().filter_map(point).collect())
    });
    let mut x = vec![(1.0, last.to_string(), "end")];
    if n > 0 {
        let begins = weeks().filter(|week| place(*week) == Some(0.0)).min();
        x.extend(begins.map(|week| (0.0, week.to_string(), "start")));
    } else {
        x = vec![(0.5, last.to_string(), "middle")];
    }
    Some(Chart::new(name, title, false, x, series.collect()))
}

/// Shares over probabilities, and where they would be if those were true.
pub(super) fn over_probabilities(name: &'static str, title: &str, points: Vec<Point>) -> Chart {
    let x = [(0.0, "0%", "start"), (0.5, "50%", "middle"), (1.0, "100%", "end")];
    let x = x.map(|(at, text, anchor)| (at, text.to_owned(), anchor)).into();
    Chart::new(name, title, true, x, vec![("one", "called false, by the probability that was given", points)])
}

impl Chart {
    fn new(
        name: &'static str,
        title: &str,
        has_diagonal: bool,
        x: Vec<(f64, String, &'static str)>,
        series: Vec<(&'static str, &'static str, Vec<Point>)>,
    ) -> Chart {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let at_x = |x: f64| rounded(LEFT + x * (right - LEFT));
        let at_y = |share: f64| rounded(bottom - share * (bottom - TOP));
        let mark = |point: &Point| Mark {
            x: at_x(point.x),
            y: at_y(point.share),
            low: at_y(point.interval.low),
            high: at_y(point.interval.high),
            says: point.says.clone(),
        };
        let series = series.into_iter().map(|(class, name, points)| {
            let points: Vec<Mark> = points.iter().map(mark).collect();
            let step = |(n, mark): (usize, &Mark)| format!("{}{} {}", if n == 0 { 'M' } else { 'L' }, mark.x, mark.y);
            Series { class, name, path: points.iter().enumerate().map(step).collect(), points }
        });
        let y = [(0.0, "0%"), (0.5, "50%"), (1.0, "100%")];
        Chart {
            name,
            title: title.to_owned(),
            width: WIDTH,
            height: HEIGHT,
            field: [LEFT, TOP, right, bottom],
            has_diagonal,
            x: x.into_iter().map(|(at, text, anchor)| Tick { at: at_x(at), text, anchor }).collect(),
            y: y.map(|(at, text)| Tick { at: at_y(at), text: text.to_owned(), anchor: "end" }).into(),
            series: series.collect(),
        }
    }
}

fn rounded(place: f64) -> f64 {
    (10.0 * place).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(week: &str, share: f64) -> OfWeek {
        let interval = Interval { low: share / 2.0, high: (1.0 + share) / 2.0 };
        OfWeek { week: week.parse().unwrap(), share, interval, says: String::new() }
    }

    #[test]
    fn weeks_stand_in_their_places_and_of_many_the_last() {
        let chart =
            over_weeks("a", "A", vec![("one", "one", vec![of("2026-11-09", 0.0), of("2026-11-23", 1.0)])]).unwrap();
        let points = &chart.series[0].points;
        assert_eq!((points[0].x, points[0].y, points[1].x, points[1].y), (LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, TOP));
        assert_eq!(chart.series[0].path, "M34 148L350 8");
        assert_eq!(chart.x.iter().map(|tick| tick.text.as_str()).collect::<Vec<_>>(), ["2026-11-23", "2026-11-09"]);
        let chart =
            over_weeks("a", "A", vec![("one", "one", vec![of("2020-01-06", 0.0), of("2026-11-23", 1.0)])]).unwrap();
        assert_eq!((chart.series[0].points.len(), chart.x.len()), (1, 1));
        let chart = over_weeks("a", "A", vec![("one", "one", vec![of("2026-11-23", 1.0)])]).unwrap();
        assert_eq!(chart.series[0].points[0].x, (LEFT + WIDTH - RIGHT) / 2.0);
        assert!(over_weeks("a", "A", vec![("one", "one", Vec::new())]).is_none());
    }
}
