//! Days and weeks, in UTC.

use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

/// The day of a time in seconds since 1970.
pub(super) fn day(at: f64) -> Date {
    TimeZone::UTC.to_datetime(instant(at)).date()
}

/// The Monday of the week of a time.
pub(super) fn week(at: f64) -> Date {
    let day = day(at);
    let since = i64::from(day.weekday().to_monday_zero_offset());
    day.saturating_sub(since.days())
}

/// A time as one reads it, to the minute.
pub(super) fn minute(at: f64) -> String {
    instant(at).strftime("%Y-%m-%d %H:%M").to_string()
}

/// A day as the field of a form has it.
pub(super) fn read(day: &str) -> Option<Date> {
    day.parse().ok()
}

fn instant(at: f64) -> Timestamp {
    // what no calendar has is its first day
    Timestamp::from_second(at as i64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_begins_on_monday() {
        // 2026-11-25, a Wednesday
        let at = 1_795_622_400.0;
        assert_eq!((day(at).to_string(), minute(at)), ("2026-11-25".to_owned(), "2026-11-25 16:00".to_owned()));
        let monday = week(at);
        assert_eq!(monday.to_string(), "2026-11-23");
        assert_eq!(week(at - 2.0 * 86_400.0), monday);
        assert_eq!(week(at - 3.0 * 86_400.0).to_string(), "2026-11-16");
        assert_eq!((minute(-1e300), minute(f64::NAN)), ("1970-01-01 00:00".to_owned(), "1970-01-01 00:00".to_owned()));
        assert_eq!((read("2026-11-23"), read("x"), read("2026-02-30")), (Some(monday), None, None));
    }
}
