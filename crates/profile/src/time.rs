//! Dates of profile files.

/// A moment, and the offset of local time at the place where it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// Milliseconds since 1970-01-01 00:00 UTC.
    pub unix_ms: u64,
    /// Local time minus UTC, in seconds.
    pub utc_offset_s: i32,
}

const DAY_S: i64 = 86_400;
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Timestamp {
    /// The local time as C's `ctime` prints it, without its newline: `Fri Nov 20 19:00:31 2026`.
    pub fn ctime(self) -> String {
        let local_s = i64::try_from(self.unix_ms / 1000).unwrap_or(i64::MAX / 2)
            + i64::from(self.utc_offset_s);
        let (days, second) = (local_s.div_euclid(DAY_S), local_s.rem_euclid(DAY_S));
        let (year, month, day) = civil(days);
        let weekday = WEEKDAYS[(days + 4).rem_euclid(7) as usize];
        let month = MONTHS[month as usize - 1];
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year}")
    }

    /// The time in UTC as ISO 8601 has it, to the second: `2026-11-20T19:00:31Z`.
    pub fn iso_utc(self) -> String {
        let seconds = i64::try_from(self.unix_ms / 1000).unwrap_or(i64::MAX / 2);
        let (days, second) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    /// Reads what [`Timestamp::iso_utc`] prints.
    pub fn from_iso_utc(text: &str) -> Option<Self> {
        let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
        let parts = |text: &str, by: char| {
            let mut parts = text.split(by).map(|part| {
                let is_number = !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
                part.parse::<i64>().ok().filter(|_| is_number)
            });
            let found = (parts.next()??, parts.next()??, parts.next()??);
            parts.next().is_none().then_some(found)
        };
        Self::of_utc(parts(date, '-')?, parts(clock, ':')?)
    }

    /// The moment of a date and a time of day in UTC; `None` if there is no such moment from 1970 on.
    fn of_utc((year, month, day): (i64, i64, i64), clock: (i64, i64, i64)) -> Option<Self> {
        let (hour, minute, second) = clock;
        let is_within = (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..=60).contains(&second);
        if !is_within {
            return None;
        }
        let seconds = days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second;
        Some(Self { unix_ms: u64::try_from(seconds).ok()? * 1000, utc_offset_s: 0 })
    }

    /// Reads what [`Timestamp::ctime`] prints. The text has no time zone. It is taken as UTC, so
    /// that it prints unchanged.
    pub fn from_ctime(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let _weekday = words.next()?;
        let month = words.next()?;
        let month = MONTHS.iter().position(|&name| name == month)? as i64 + 1;
        let day: i64 = words.next()?.parse().ok()?;
        let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
        let clock = (clock.next()??, clock.next()??, clock.next()??);
        let year: i64 = words.next()?.parse().ok()?;
        Self::of_utc((year, month, day), clock)
    }
}

/// Days since 1970-01-01 of a date of the Gregorian calendar, counted in 400-year eras that begin
/// on a 1st of March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The reverse of [`days`]: year, month, day.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_ctime() {
        for (unix_ms, utc_offset_s, text) in [
            (0, 0, "Thu Jan  1 00:00:00 1970"),
            (1_795_201_231_000, 0, "Fri Nov 20 19:00:31 2026"),
            (951_782_400_000, 0, "Tue Feb 29 00:00:00 2000"),
            (951_782_400_000, -3600, "Mon Feb 28 23:00:00 2000"),
            (4_102_444_799_999, 0, "Thu Dec 31 23:59:59 2099"),
        ] {
            let stamp = Timestamp { unix_ms, utc_offset_s };
            assert_eq!(stamp.ctime(), text);
            assert_eq!(Timestamp::from_ctime(text).unwrap().ctime(), text);
        }
    }

    #[test]
    fn prints_as_iso_8601() {
        let stamp = Timestamp { unix_ms: 1_795_201_231_999, utc_offset_s: 3600 };
        assert_eq!(stamp.iso_utc(), "2026-11-20T19:00:31Z");
        let read = Timestamp::from_iso_utc("2026-11-20T19:00:31Z").unwrap();
        assert_eq!(read.unix_ms, 1_795_201_231_000);
        for text in
            ["", "2026-11-20", "2026-13-20T19:00:31Z", "2026-11-20T19:00Z", "+2026-11-20T19:00:31Z"]
        {
            assert_eq!(Timestamp::from_iso_utc(text), None, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_date() {
        for text in ["", "Fri Nov", "Fri Nov 32 19:00:31 2026", "Fri Nov 20 25:00:00 2026", "x y z"]
        {
            assert_eq!(Timestamp::from_ctime(text), None);
        }
    }
}
