//! `perk view`: a profile in the terminal.

use crate::args::ViewArgs;
use crate::input::{self, display_name};

/// Reads a file and shows it until the user leaves.
pub(crate) fn view(args: &ViewArgs) -> anyhow::Result<()> {
    let input = input::read(&args.file, &args.read)?;
    perk_ui::run(&input.profile, &display_name(&args.file))
}
