//! Users: their names, and their ids within namespaces.

use std::fs;

use super::Process;

/// The name of a user; the number, if it has no name here.
pub fn name_of_user(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_in(&users, uid).map_or_else(|| uid.to_string(), str::to_owned)
}

fn name_in(users: &str, uid: u32) -> Option<&str> {
    let uid = uid.to_string();
    let mut fields = users.lines().map(|line| line.split(':'));
    fields.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1) == Some(&uid)).then_some(name)
    })
}

/// The id that a user of perk's namespace has in the namespace of the process. `None` if it has none
/// there, or if that cannot be seen.
pub fn inner_id(process: &Process, uid: u32) -> Option<u32> {
    if process.shares("user")? {
        return Some(uid);
    }
    let map = process.read("uid_map").ok()?;
    mapped(&String::from_utf8_lossy(&map), uid)
}

/// Looks up an id in lines of a first inner id, a first outer id and a number of ids.
fn mapped(map: &str, outer: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        let mut next = || numbers.next()?.ok();
        let (inner, first, count) = (next()?, next()?, next()?);
        let offset = outer.checked_sub(first)?;
        (offset < count).then(|| inner.checked_add(offset))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names() {
        let users = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(name_in(users, 1000), Some("ann"));
        assert_eq!(name_in(users, 100), None);
    }

    #[test]
    fn ids_are_mapped() {
        let map = "         0     100000      65536\n     70000          5          1\n";
        assert_eq!(mapped(map, 100_000), Some(0));
        assert_eq!(mapped(map, 165_535), Some(65_535));
        assert_eq!(mapped(map, 165_536), None);
        assert_eq!(mapped(map, 5), Some(70_000));
        assert_eq!(mapped("0 0 4294967295\n", 7), Some(7));
    }
}
