//! The counts of `xtask soak`, and their table.

use super::run::{Ending, Fault, SampledRun};

/// The counts of a program on a JDK.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgramTally {
    program: String,
    version: u32,
    runs: u64,
    crashes: u64,
    hangs: u64,
    differences: u64,
    bad_profiles: u64,
    samples: u64,
    lost: u64,
    /// The samples in Java code whose stack is not complete.
    broken: u64,
    /// The samples without a Java stack: the thread was starting, ending or the JVM's own, or the
    /// sample was lost.
    without_stack: u64,
    /// The most memory that the agent's own code held.
    peak_bytes: u64,
    /// How much more memory the process held than without perk, in runs without flags.
    more_bytes: Vec<i64>,
}

/// The counts.
#[derive(Debug)]
pub(super) struct Tally(Vec<ProgramTally>);

impl ProgramTally {
    pub(super) fn new(program: &str, version: u32) -> Self {
        Self { program: program.to_owned(), version, ..Self::default() }
    }

    fn bad_count(&self) -> u64 {
        self.crashes + self.hangs + self.differences + self.bad_profiles
    }

    fn add(&mut self, other: &ProgramTally) {
        self.runs += other.runs;
        self.crashes += other.crashes;
        self.hangs += other.hangs;
        self.differences += other.differences;
        self.bad_profiles += other.bad_profiles;
        self.samples += other.samples;
        self.lost += other.lost;
        self.broken += other.broken;
        self.without_stack += other.without_stack;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.more_bytes.extend(&other.more_bytes);
    }

    fn cells(&self) -> String {
        let share = |part: u64| match self.samples + self.without_stack {
            0 => "".to_owned(),
            all => format!("{:.2} %", part as f64 * 100.0 / all as f64),
        };
        let mut more = self.more_bytes.clone();
        more.sort_unstable();
        let more = match more.get(more.len() / 2) {
            Some(bytes) => format!("{:.1}", *bytes as f64 / f64::from(1 << 20)),
            None => "".to_owned(),
        };
        format!(
            "{} | {} | {} | {} | {} | {} | {} | {} ({}) | {} | {:.1} | {more}",
            self.runs,
            self.crashes,
            self.hangs,
            self.differences,
            self.bad_profiles,
            self.samples,
            self.lost,
            self.broken,
            share(self.broken),
            share(self.without_stack),
            self.peak_bytes as f64 / f64::from(1 << 20),
        )
    }
}

impl Tally {
    pub(super) fn new(rows: Vec<ProgramTally>) -> Self {
        Self(rows)
    }

    /// The counts of all.
    pub(super) fn together(tallies: Vec<Tally>) -> Self {
        Self(tallies.into_iter().flat_map(|it| it.0).collect())
    }

    /// Counts a run of a program. `plain_bytes` is the memory without perk, if it can be compared.
    pub(super) fn add(&mut self, index: usize, ended: &SampledRun, plain_bytes: Option<u64>) {
        let row = &mut self.0[index];
        row.runs += 1;
        if let Ending::Wrong { what, .. } = ended.ending {
            *match what {
                Fault::Crash(_) => &mut row.crashes,
                Fault::Hang => &mut row.hangs,
                Fault::Difference => &mut row.differences,
                Fault::Profile => &mut row.bad_profiles,
            } += 1;
        }
        let accounting = &ended.accounting;
        row.samples += accounting.sample_count;
        row.lost += ended.lost_count;
        row.broken += accounting.failed_walk_count;
        row.without_stack += accounting.unattributed_count;
        row.peak_bytes = row.peak_bytes.max(accounting.perk_peak_bytes);
        row.more_bytes.extend(plain_bytes.map(|plain| ended.peak_bytes as i64 - plain as i64));
    }

    fn sum(&self) -> ProgramTally {
        let mut sum = ProgramTally::default();
        self.0.iter().for_each(|row| sum.add(row));
        sum
    }

    /// The number of runs that were not as without perk.
    pub(super) fn bad_count(&self) -> u64 {
        self.sum().bad_count()
    }

    /// The counts in one line.
    pub(super) fn summary(&self) -> String {
        let ProgramTally {
            runs,
            crashes,
            hangs,
            differences,
            bad_profiles,
            samples,
            lost,
            broken,
            ..
        } = self.sum();
        format!(
            "{runs} runs, {crashes} crashes, {hangs} hangs, {differences} differences, {bad_profiles} \
             bad profiles, {samples} samples, {lost} lost, {broken} incomplete"
        )
    }

    /// The table, in Markdown.
    pub(super) fn table(&self) -> String {
        let mut text = "| program | JDK | runs | crashes | hangs | differences | bad profiles | \
                        samples | lost | incomplete | without a stack | perk's peak MiB | RSS more, \
                        MiB |\n| --- |"
            .to_owned();
        text += &" --- |".repeat(12);
        for row in &self.0 {
            text += &format!("\n| {} | {} | {} |", row.program, row.version, row.cells());
        }
        text + &format!("\n| all | | {} |\n", self.sum().cells())
    }
}
