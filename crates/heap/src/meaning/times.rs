//! Dates, times and durations, in their ISO forms.

use crate::Meaning;

use super::reader::Instance;

const DAY_SECONDS: i64 = 86_400;
const NANOS: i64 = 1_000_000_000;
/// The seconds of `Instant.MIN`, which is further from 1970 than `Instant.MAX`.
const MOST_SECONDS: i64 = 31_557_014_167_219_200;

/// A `Date`, in UTC.
pub(super) fn date(it: &Instance<'_, '_>) -> Option<Meaning> {
    millis(it.int("fastTime")?)
}

/// A `java.sql.Timestamp`: `Date` has its full seconds.
pub(super) fn timestamp(it: &Instance<'_, '_>) -> Option<Meaning> {
    let seconds = it.int("fastTime")?.div_euclid(1000);
    instant(seconds, it.int("nanos")?).map(Meaning::Plain)
}

/// A `Calendar`, in UTC.
pub(super) fn calendar(it: &Instance<'_, '_>) -> Option<Meaning> {
    // Otherwise its fields were set, and the time was not asked for since.
    it.flag("isTimeSet")?.then_some(())?;
    millis(it.int("time")?)
}

/// The classes of `java.time`.
pub(super) fn time(it: &Instance<'_, '_>) -> Option<Meaning> {
    text(it).map(Meaning::Plain)
}

fn text(it: &Instance<'_, '_>) -> Option<String> {
    // A damaged dump may have cycles.
    let inner = |name: &str| it.reader.unwrap(|| text(&it.object(name)?));
    Some(match it.class_name() {
        "java.time.Instant" => instant(it.int("seconds")?, it.int("nanos")?)?,
        "java.time.LocalDate" => day(it.int("year")?, it.int("month")?, it.int("day")?),
        "java.time.LocalTime" => {
            clock(it.int("hour")?, it.int("minute")?, it.int("second")?, it.int("nano")?)
        }
        "java.time.LocalDateTime" => format!("{}T{}", inner("date")?, inner("time")?),
        "java.time.OffsetTime" => inner("time")? + &inner("offset")?,
        "java.time.OffsetDateTime" => inner("dateTime")? + &inner("offset")?,
        "java.time.ZonedDateTime" => {
            let (offset, zone) = (inner("offset")?, inner("zone")?);
            let zone = if zone == offset { String::new() } else { format!("[{zone}]") };
            inner("dateTime")? + &offset + &zone
        }
        "java.time.Duration" => duration(it.int("seconds")?, it.int("nanos")?),
        "java.time.Period" => period(it.int("years")?, it.int("months")?, it.int("days")?),
        "java.time.Year" => it.int("year")?.to_string(),
        "java.time.YearMonth" => format!("{}-{:02}", year(it.int("year")?), it.int("month")?),
        "java.time.MonthDay" => format!("--{:02}-{:02}", it.int("month")?, it.int("day")?),
        "java.time.ZoneOffset" => offset(it.int("totalSeconds")?),
        "java.time.ZoneRegion" => it.text("id")?,
        _ => return None,
    })
}

fn millis(millis: i64) -> Option<Meaning> {
    instant(millis.div_euclid(1000), millis.rem_euclid(1000) * 1_000_000).map(Meaning::Plain)
}

/// `2024-02-29T12:00:00.500Z`
fn instant(seconds: i64, nanos: i64) -> Option<String> {
    if seconds.abs() > MOST_SECONDS || !(0..NANOS).contains(&nanos) {
        return None;
    }
    let (year, month, day_of_month) = civil(seconds.div_euclid(DAY_SECONDS));
    let second = seconds.rem_euclid(DAY_SECONDS);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let date = day(year, month, day_of_month);
    Some(format!("{date}T{hour:02}:{minute:02}:{:02}{}Z", second % 60, fraction(nanos)))
}

/// Year, month and day of a day since 1970.
fn civil(day: i64) -> (i64, i64, i64) {
    // Eras of 400 years that begin in March.
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day_of_month)
}

fn day(of_year: i64, month: i64, day: i64) -> String {
    format!("{}-{month:02}-{day:02}", year(of_year))
}

fn year(year: i64) -> String {
    match year {
        10_000.. => format!("+{year}"),
        0.. => format!("{year:04}"),
        _ => format!("-{:04}", year.unsigned_abs()),
    }
}

/// `12:00`, with seconds where there are some.
fn clock(hour: i64, minute: i64, second: i64, nanos: i64) -> String {
    let seconds = match (second, nanos) {
        (0, 0) => String::new(),
        _ => format!(":{second:02}{}", fraction(nanos)),
    };
    format!("{hour:02}:{minute:02}{seconds}")
}

/// Three, six or nine digits of a second.
fn fraction(nanos: i64) -> String {
    match nanos {
        0 => String::new(),
        _ if nanos % 1_000_000 == 0 => format!(".{:03}", nanos / 1_000_000),
        _ if nanos % 1_000 == 0 => format!(".{:06}", nanos / 1_000),
        _ => format!(".{nanos:09}"),
    }
}

/// `Z`, `+01:00`
fn offset(seconds: i64) -> String {
    if seconds == 0 {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let all = seconds.unsigned_abs();
    let seconds = if all.is_multiple_of(60) { String::new() } else { format!(":{:02}", all % 60) };
    format!("{sign}{:02}:{:02}{seconds}", all / 3600, all / 60 % 60)
}

/// `PT1H30M0.5S`
fn duration(seconds: i64, nanos: i64) -> String {
    let total = i128::from(seconds) * i128::from(NANOS) + i128::from(nanos);
    if total == 0 {
        return "PT0S".to_owned();
    }
    // Each part has the sign of the whole.
    let sign = if total < 0 { "-" } else { "" };
    let total = total.unsigned_abs();
    let (all, nanos) = (total / NANOS as u128, total % NANOS as u128);
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    let mut text = "PT".to_owned();
    if hours > 0 {
        text += &format!("{sign}{hours}H");
    }
    if minutes > 0 {
        text += &format!("{sign}{minutes}M");
    }
    if seconds > 0 || nanos > 0 {
        let nanos = if nanos == 0 { String::new() } else { format!(".{nanos:09}") };
        text += &format!("{sign}{seconds}{}S", nanos.trim_end_matches('0'));
    }
    text
}

/// `P1Y2M3D`
fn period(years: i64, months: i64, days: i64) -> String {
    let parts = [(years, 'Y'), (months, 'M'), (days, 'D')];
    let parts = parts.into_iter().filter(|it| it.0 != 0);
    let parts: String = parts.map(|(count, unit)| format!("{count}{unit}")).collect();
    if parts.is_empty() { "P0D".to_owned() } else { "P".to_owned() + &parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_have_their_day() {
        for (seconds, nanos, shown) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (-1, 999_000_000, "1969-12-31T23:59:59.999Z"),
            (951_782_400, 1, "2000-02-29T00:00:00.000000001Z"),
            (1_709_208_000, 500_000_000, "2024-02-29T12:00:00.500Z"),
            (253_402_300_800, 0, "+10000-01-01T00:00:00Z"),
            (-62_167_219_201, 0, "-0001-12-31T23:59:59Z"),
        ] {
            assert_eq!(instant(seconds, nanos).unwrap(), shown);
        }
        assert_eq!(instant(i64::MIN + 1, 0), None);
        assert_eq!(instant(0, -1), None);
    }

    #[test]
    fn durations_are_those_of_java_time() {
        for (seconds, nanos, shown) in [
            (0, 0, "PT0S"),
            (5400, 0, "PT1H30M"),
            (1, 500_000_000, "PT1.5S"),
            (-1, 0, "PT-1S"),
            (-1, 500_000_000, "PT-0.5S"),
            (-3661, 0, "PT-1H-1M-1S"),
        ] {
            assert_eq!(duration(seconds, nanos), shown);
        }
        assert_eq!(period(0, 0, 0), "P0D");
        assert_eq!(period(1, -2, 30), "P1Y-2M30D");
        assert_eq!([0, 3600, -19_800, 3601].map(offset), ["Z", "+01:00", "-05:30", "+01:00:01"]);
    }
}
