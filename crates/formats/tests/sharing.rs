//! What to do about the fields of hand-made files, in which each object is a line.

use perk_analysis::objects;
use perk_analysis::sharing::Sharing;
use perk_formats::shared_fields;
use perk_profile::{FieldCounts, Profile};
use proptest::prelude::*;

/// A site, a class, and the numbers of each field.
type Object<'a, const N: usize = 4> = (&'a str, &'a str, &'a [(&'a str, [u64; N])]);

/// The records of `objects`: a site (`Maker.run` or `?`), a class, and of each field its name and the
/// reads by the owner and by others, the writes by the owner and by others; of eight numbers the last
/// four are those by other means.
fn profile<const N: usize>(objects: &[Object<'_, N>]) -> Profile {
    let mut text = String::new();
    for (site, class, fields) in objects {
        match site.split_once('.') {
            None => text += site,
            Some((class, method)) => text += &format!("app/{class}\x1c{method}\x1c()V\x1c4"),
        }
        text += &format!("\t{class}\n");
        for (field, numbers) in *fields {
            let (owner, name) = field.rsplit_once('.').unwrap_or((class, field));
            let kind = if *field == "$components" { "?" } else { "I" };
            text += &format!("{owner}\x1c{name}\x1c{kind}");
            numbers.iter().for_each(|number| text += &format!("\t{number}"));
            text += "\n";
        }
        text += "\n";
    }
    let profile = shared_fields::read(text.as_bytes()).unwrap();
    assert_eq!(profile.notes, [""; 0]);
    profile
}

fn sharing(profile: &Profile) -> Sharing {
    Sharing::new(profile.field_accesses().unwrap(), &profile.symbols)
}

/// All advice in lines: what to do, with what, in how many of all objects, and the accesses there.
fn advice<const N: usize>(objects: &[Object<'_, N>]) -> Vec<String> {
    let profile = profile(objects);
    let text = |id| profile.symbols.strings.get(id);
    let line = |it: &perk_analysis::sharing::Advice| {
        let apart = it.apart.map(|[a, b]| format!(" {}|{}", text(a.name), text(b.name)));
        let (kind, name) = (it.kind.name(), it.subject.name(&profile.symbols));
        format!(
            "{kind} {name}{} {}/{} {:?}",
            apart.unwrap_or_default(),
            it.object_count,
            it.known_count,
            it.counts.all().numbers()
        )
    };
    sharing(&profile).advice.iter().map(line).collect()
}

const M: &str = "Maker.run";

/// What instructions do not show decides as well as what they do.
#[test]
fn accesses_by_other_means_are_judged_too() {
    // `AtomicInteger.value`: a constructor writes it, then VarHandle and Unsafe, or nobody.
    let atomic = |extended: [u64; 4]| {
        let [a, b, c, d] = extended;
        advice(&[(M, "app.T", &[("value", [2, 9, 1, 0, a, b, c, d])])])
    };
    assert_eq!(atomic([0; 4]), ["final app.T.value 1/1 [2, 9, 1, 0]"]);
    assert_eq!(atomic([0, 0, 7, 0]), ["volatile app.T.value 1/1 [2, 9, 8, 0]"]);
    assert_eq!(atomic([3, 0, 7, 8]), ["lock app.T.value 1/1 [5, 9, 8, 8]"]);
    // Others use the object, or may use it, by Unsafe alone.
    let own = |site, extended: [u64; 4]| {
        let [a, b, c, d] = extended;
        let fields = [("x", [5, 0, 5, 0, a, b, c, d])];
        let profile =
            profile(&[(M, "app.T", &[("x", [5, 0, 5, 0, 0, 0, 0, 0])]), (site, "app.T", &fields)]);
        let total = objects::total(profile.field_accesses().unwrap());
        let kinds = sharing(&profile).advice.iter().map(|it| it.kind.name()).collect::<Vec<_>>();
        (kinds, total.shared_count, total.counts.direct.by_others())
    };
    assert_eq!(own(M, [1, 0, 0, 0]), (vec!["no lock"], 0, 0));
    assert_eq!(own(M, [0, 1, 0, 0]), (vec!["volatile"], 1, 0));
    let unknown = profile(&[
        (M, "app.T", &[("x", [5, 0, 5, 0, 0, 0, 0, 0])]),
        ("?", "app.T", &[("x", [0, 0, 0, 0, 0, 1, 0, 0])]),
    ]);
    assert_eq!(sharing(&unknown).advice, []);
}

#[test]
fn a_field_written_once_by_its_owner_is_final() {
    assert_eq!(
        advice(&[
            (M, "app.T", &[("x", [2, 9, 1, 0])]),
            ("Other.run", "app.T", &[("x", [0, 1, 1, 0])]),
            (M, "app.T", &[("x", [5, 0, 0, 0])]),
        ]),
        ["final app.T.x 2/3 [2, 10, 2, 0]"]
    );
}

/// A file of alike objects says which fields are `final` or `volatile` already.
#[test]
fn what_the_program_does_already_is_no_advice() {
    let written = |modifiers: [&str; 2]| {
        let [once, flag] = modifiers;
        let text = format!(
            "app/Maker\x1crun\x1c()V\x1c4\tapp.T\t3\napp.T\x1conce\x1cI\t1\t1\t1\t0{once}\n\
             app.T\x1cflag\x1cI\t1\t9\t9\t0{flag}\n\n"
        );
        let profile = shared_fields::read(text.as_bytes()).unwrap();
        let advice = sharing(&profile).advice;
        advice.iter().map(|it| it.kind.name()).collect::<Vec<_>>()
    };
    assert_eq!(written(["", ""]), ["volatile", "final"]);
    assert_eq!(written(["\tfinal", ""]), ["volatile"]);
    assert_eq!(written(["\tvolatile", "\tvolatile"]), [""; 0]);
    assert_eq!(written(["\tassigned", "\tassigned"]), ["volatile"]);
    assert_eq!(written(["\tfinal", "\tvolatile"]), [""; 0]);
}

#[test]
fn one_object_that_is_written_twice_keeps_a_field_from_being_final() {
    let once: Object<'_> = (M, "app.T", &[("x", [2, 9, 1, 0])]);
    // By its owner, which other threads do not see; by another thread.
    for (counts, lines) in [
        ([0, 0, 2, 0], &[][..]),
        ([0, 0, 0, 1], &[]),
        ([1, 0, 1, 1], &["volatile app.T.x 1/2 [1, 0, 1, 1]"]),
    ] {
        assert_eq!(advice(&[once, (M, "app.T", &[("x", counts)])]), lines, "{counts:?}");
    }
    // An object of unknown site may have been initialised, by anybody.
    assert_eq!(advice(&[once, ("?", "app.T", &[("x", [0, 5, 0, 1])])]).len(), 1);
    assert_eq!(advice(&[once, ("?", "app.T", &[("x", [0, 5, 0, 2])])]), [""; 0]);
    // Never written.
    assert_eq!(advice(&[(M, "app.T", &[("x", [1, 1, 0, 0])])]), [""; 0]);
}

#[test]
fn a_field_is_judged_in_the_objects_of_all_classes_that_have_it() {
    let base = |class, writes| (M, class, [("app.Base.x", [1, 1, writes, 0])]);
    let [a, b, c] = [base("app.A", 1), base("app.B", 1), base("app.B", 2)];
    assert_eq!(
        advice(&[(a.0, a.1, &a.2), (b.0, b.1, &b.2)]),
        ["final app.Base.x 2/2 [2, 2, 2, 0]"]
    );
    assert_eq!(
        advice(&[(a.0, a.1, &a.2), (c.0, c.1, &c.2)]),
        ["volatile app.Base.x 1/2 [1, 1, 2, 0]"]
    );
}

#[test]
fn a_field_that_one_side_writes_and_the_other_reads_is_volatile() {
    for counts in [[0, 1, 2, 0], [3, 0, 0, 1], [1, 7, 1, 5]] {
        let line = format!("volatile app.T.x 1/1 {counts:?}");
        assert_eq!(advice(&[(M, "app.T", &[("x", counts)])]), [line]);
    }
}

#[test]
fn a_field_that_both_sides_write_needs_a_lock() {
    assert_eq!(
        advice(&[
            (M, "app.T", &[("x", [0, 0, 2, 1])]),
            (M, "app.T", &[("x", [0, 3, 2, 0])]),
            (M, "app.T", &[("x", [0, 0, 1, 0])]),
        ]),
        ["lock app.T.x 1/3 [0, 0, 2, 1]"]
    );
    // The first write may be the constructor's.
    assert_eq!(
        advice(&[(M, "app.T", &[("x", [1, 0, 1, 1])])]),
        ["volatile app.T.x 1/1 [1, 0, 1, 1]"]
    );
}

#[test]
fn fields_of_one_object_that_different_threads_write_are_padded() {
    let queue = |head, tail| [("head", head), ("tail", tail), ("size", [0, 0, 1, 0])];
    let lines = |head, tail| {
        let queue = queue(head, tail);
        let queue: Object<'_> = (M, "app.Q", &queue);
        advice(&[queue; 3])
    };
    assert_eq!(
        lines([50, 0, 50, 0], [0, 40, 1, 40]),
        ["pad app.Q head|tail 3/3 [150, 120, 153, 120]", "final app.Q.size 3/3 [0, 0, 3, 0]"]
    );
    // One side writes only in the constructor; both fields are written by both; only by others.
    for (head, tail) in [
        ([50, 0, 1, 0], [0, 40, 1, 40]),
        ([50, 0, 50, 2], [0, 40, 50, 40]),
        ([0, 50, 1, 50], [0, 40, 1, 40]),
        ([50, 0, 50, 0], [0, 40, 1, 1]),
    ] {
        let lines = lines(head, tail);
        assert!(!lines.iter().any(|line| line.starts_with("pad")), "{lines:?}");
    }
    // In different objects.
    let lines = advice(&[
        (M, "app.Q", &queue([50, 0, 50, 0], [0; 4])),
        (M, "app.Q", &queue([0; 4], [0, 40, 1, 40])),
    ]);
    assert!(!lines.iter().any(|line| line.starts_with("pad")), "{lines:?}");
}

#[test]
fn objects_that_others_take_over_are_confined() {
    let task = |result| [("input", [0, 2, 1, 0]), ("result", result)];
    let taken = task([0, 3, 0, 2]);
    let lines = advice(&[
        (M, "app.Task", &taken),
        (M, "app.Task", &[("input", [0, 0, 1, 0]), ("result", [0; 4])]),
        ("Other.run", "app.Task", &[("input", [4, 0, 1, 0]), ("result", [0; 4])]),
    ]);
    assert_eq!(
        lines,
        [
            "confine app.Task at app.Maker.run() @4 1/2 [0, 5, 1, 2]",
            "final app.Task.input 3/3 [4, 2, 3, 0]"
        ]
    );
    // The owner uses another object of the same site; others only read.
    for other in [[1, 0, 0, 0], [0, 0, 2, 0], [1, 3, 0, 2]] {
        let lines = advice(&[(M, "app.Task", &taken), (M, "app.Task", &task(other))]);
        assert!(!lines.iter().any(|line| line.starts_with("confine")), "{lines:?}");
    }
    assert_eq!(
        advice(&[(M, "app.Task", &task([0, 3, 1, 0]))]),
        ["final app.Task.result 1/1 [0, 3, 1, 0]", "final app.Task.input 1/1 [0, 2, 1, 0]"]
    );
}

#[test]
fn objects_that_never_leave_their_thread_need_no_lock() {
    let own: Object<'_> = (M, "app.T", &[("x", [5, 0, 3, 0])]);
    assert_eq!(advice(&[own, own]), ["no lock app.T 2/2 [10, 0, 6, 0]"]);
    assert_eq!(advice(&[own, (M, "app.T", &[("x", [0, 1, 1, 0])])]), [""; 0]);
    // The owner of an object of unknown site is not known: it may be shared, if it was accessed.
    assert_eq!(advice(&[own, ("?", "app.T", &[("x", [0, 1, 0, 0])])]), [""; 0]);
    assert_eq!(advice(&[own, ("?", "app.T", &[("x", [0; 4])])]).len(), 1);
    assert_eq!(advice(&[(M, "app.T", &[("x", [0; 4])]), (M, "app.U", &[])]), [""; 0]);
}

#[test]
fn objects_of_unknown_site_are_never_called_shared() {
    let objects: &[Object<'_>] = &[
        ("?", "app.T", &[("x", [0, 9, 0, 9]), ("y", [0, 9, 0, 0])]),
        ("?", "char[]", &[("$arraylength", [0, 2, 0, 0]), ("$components", [0, 2, 0, 2])]),
    ];
    assert_eq!(advice(objects), [""; 0]);
    let profile = profile(objects);
    let total = objects::total(profile.field_accesses().unwrap());
    assert_eq!((total.object_count, total.unknown_count, total.shared_count), (2, 2, 0));
    assert_eq!((total.all(), total.unknown.direct.total()), (FieldCounts::default(), 33));
    let metric = perk_profile::Metric::SharedFieldAccesses;
    assert_eq!(metric.rows(&profile).total, 0);
    assert_eq!(perk_profile::Metric::FieldAccesses.rows(&profile).total, 33);
}

#[test]
fn arrays_are_judged_by_site() {
    let array = |length, components| [("$arraylength", length), ("$components", components)];
    let lines = |length, components| advice(&[(M, "[I", &array(length, components))]);
    // Written by others and read by the owner.
    assert_eq!(
        lines([0; 4], [1, 0, 10, 2]),
        ["lock int[] at app.Maker.run() @4 1/1 [1, 0, 10, 2]"]
    );
    // Filled by the owner, then others alone use it; the length is no use.
    assert_eq!(
        lines([5, 5, 0, 0], [0, 7, 10, 2]),
        ["confine int[] at app.Maker.run() @4 1/1 [0, 7, 10, 2]"]
    );
    // Filled by the owner and read by others; never shared; its length alone read by others.
    for components in [[0, 7, 10, 0], [9, 0, 10, 0], [0, 0, 10, 0]] {
        assert_eq!(lines([3, 4, 0, 0], components), [""; 0], "{components:?}");
    }
}

#[test]
fn numbers_stop_at_the_largest() {
    const MAX: u64 = u64::MAX;
    let object: Object<'_> = (M, "app.T", &[("x", [MAX; 4]), ("y", [0, MAX, 1, 0])]);
    assert_eq!(
        advice(&[object, object]),
        [
            format!("lock app.T.x 2/2 [{MAX}, {MAX}, {MAX}, {MAX}]"),
            format!("final app.T.y 2/2 [0, {MAX}, 2, 0]"),
        ]
    );
}

#[test]
fn what_a_program_cannot_change_comes_last() {
    let field = |class, reads| (M, class, [("x", [0, reads, 1, 0])]);
    let [jdk, mine, other] = [field("java.util.A", 9), field("javafoo.B", 5), field("app.C", 7)];
    let lines = advice(&[(M, jdk.1, &jdk.2), (M, mine.1, &mine.2), (M, other.1, &other.2)]);
    let names: Vec<_> = lines.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(names, ["app.C.x", "javafoo.B.x", "java.util.A.x"]);
}

#[test]
fn rows_have_what_to_do_with_them() {
    let profile = profile(&[
        (
            M,
            "app.Q",
            &[
                ("head", [0, 0, 9, 0]),
                ("tail", [0, 9, 1, 9]),
                ("both", [0, 0, 2, 2]),
                ("rest", [1, 0, 3, 0]),
            ],
        ),
        (M, "app.P", &[("twice", [1, 2, 9, 0]), ("tail", [0, 9, 1, 9])]),
        (M, "app.P", &[("twice", [1, 2, 9, 1]), ("tail", [0; 4])]),
        (M, "app.Own", &[("x", [1, 0, 2, 0]), ("y", [1, 0, 1, 0])]),
        (M, "[I", &[("$arraylength", [1, 0, 0, 0]), ("$components", [1, 0, 1, 1])]),
    ]);
    let sharing = sharing(&profile);
    let accesses = profile.field_accesses().unwrap();
    let text = |id| profile.symbols.strings.get(id);
    let mut fields: Vec<_> = objects::by_field(accesses)
        .iter()
        .map(|row| format!("{}: {}", text(row.key.1.name), sharing.of_field(row.key)))
        .collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "$arraylength: ",
            "$components: lock",
            "both: lock",
            "head: pad",
            "rest: ",
            "tail: pad",
            "tail: pad",
            "twice: lock, pad",
            "x: no lock",
            "y: final, no lock",
        ]
    );
    let mut classes: Vec<_> = objects::by_class(accesses)
        .iter()
        .map(|row| {
            format!("{}: {}", profile.symbols.class_name(row.key), sharing.of_class(row.key))
        })
        .collect();
    classes.sort_unstable();
    assert_eq!(classes, ["app.Own: no lock", "app.P: pad", "app.Q: pad", "int[]: lock"]);
    let sites: Vec<_> = objects::by_site(accesses)
        .iter()
        .map(|row| sharing.of_site(row.key).to_string())
        .filter(|kinds| !kinds.is_empty())
        .collect();
    assert_eq!(sites, ["lock"]);
}

/// An object of a random file: its site, if it is known, its class and the numbers of its fields.
type Random = (Option<usize>, usize, [[u64; 4]; 3]);

const SITES: [&str; 2] = ["Maker.run", "Other.run"];
/// Two classes with a field of a common superclass, and an array.
const CLASSES: [(&str, &[&str]); 3] = [
    ("app.A", &["app.Base.x", "y", "z"]),
    ("app.B", &["app.Base.x", "y", "z"]),
    ("[I", &["$arraylength", "$components"]),
];

/// The advice as docs/shared-fields.md defines it: what to do, with what, in how many of all objects.
fn defined(objects: &[Random]) -> Vec<String> {
    let mut all = Vec::new();
    let known: Vec<_> = objects.iter().filter(|it| it.0.is_some()).collect();
    let unknown: Vec<_> = objects.iter().filter(|it| it.0.is_none()).collect();
    let mut say = |kind: &str, name: &str, found: usize, known: usize| {
        all.push(format!("{kind} {name} {found}/{known}"));
    };
    for (name, classes, place) in [
        ("app.Base.x", &[0, 1][..], 0),
        ("app.A.y", &[0], 1),
        ("app.A.z", &[0], 2),
        ("app.B.y", &[1], 1),
        ("app.B.z", &[1], 2),
    ] {
        let of = |from: &[&Random]| -> Vec<[u64; 4]> {
            from.iter().filter(|it| classes.contains(&it.1)).map(|it| it.2[place]).collect()
        };
        let fields = of(&known);
        let count = |is_so: fn(&[u64; 4]) -> bool| fields.iter().filter(|it| is_so(it)).count();
        let both = count(|&[_, _, w, others]| w > 1 && others > 0);
        let one = count(|&[r, others_read, w, others_write]| {
            (w > 1 && others_write == 0 && others_read > 0) || (w <= 1 && others_write > 0 && r > 0)
        });
        let once = count(|&[_, _, w, others]| w == 1 && others == 0);
        let is_final = fields.iter().all(|it| it[2] <= 1 && it[3] == 0)
            && of(&unknown).iter().all(|it| it[2] + it[3] <= 1);
        match () {
            () if both > 0 => say("lock", name, both, fields.len()),
            () if one > 0 => say("volatile", name, one, fields.len()),
            () if once > 0 && is_final => say("final", name, once, fields.len()),
            () => {}
        }
    }
    for (class, (name, fields)) in CLASSES.into_iter().enumerate() {
        let is_array = class == 2;
        let numbers = |it: &Random| it.2[..fields.len()].to_vec();
        let of_class: Vec<_> = known.iter().filter(|it| it.1 == class).collect();
        let pad = |it: &&&&Random| {
            let has = |is_so: fn(&[u64; 4]) -> bool| numbers(it).iter().any(is_so);
            has(|it| it[2] > 1 && it[3] == 0) && has(|it| it[3] > 1 && it[2] <= 1)
        };
        let padded = of_class.iter().filter(pad).count();
        let is_accessed = |it: &&&Random| numbers(it).concat().iter().any(|&it| it > 0);
        let is_shared = |it: &&&Random| numbers(it).iter().any(|it| it[1] + it[3] > 0);
        let accessed = of_class.iter().filter(|it| is_accessed(it)).count();
        if padded > 0 {
            say("pad", name, padded, of_class.len());
        } else if accessed > 0 && !is_array && !of_class.iter().any(is_shared) {
            let unknown: Vec<_> = unknown.iter().filter(|it| it.1 == class).collect();
            if !unknown.iter().any(is_accessed) {
                say("no lock", name, accessed, of_class.len());
            }
        }
        for (site, site_name) in SITES.into_iter().enumerate() {
            let of_site: Vec<_> = of_class.iter().filter(|it| it.0 == Some(site)).collect();
            // The length of an array is skipped.
            let used = |it: &&&&Random| numbers(it)[usize::from(is_array)..].to_vec();
            let locked = |it: &&&&&Random| used(it).iter().any(|it| it[3] > 0 && it[0] > 0);
            let locked = of_site.iter().filter(locked).count();
            let taken = |it: &&&&&Random| used(it).iter().any(|it| it[1] + it[3] > 0);
            let taken = of_site.iter().filter(taken).count();
            let is_left = of_site
                .iter()
                .all(|it| used(it).iter().all(|it| it[0] == 0 && (is_array || it[2] <= 1)));
            let is_written = of_site.iter().any(|it| used(it).iter().any(|it| it[3] > 0));
            let class = if is_array { "int[]" } else { name };
            let name = format!("{class} at app.{site_name}() @4");
            if is_array && locked > 0 {
                say("lock", &name, locked, of_site.len());
            } else if is_left && is_written {
                say("confine", &name, taken, of_site.len());
            }
        }
    }
    all.sort_unstable();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn advice_is_as_it_is_defined(
        objects in prop::collection::vec(
            (
                prop::option::weighted(0.9, 0..2_usize),
                0..3_usize,
                // Most fields are used by one side.
                prop::array::uniform3(prop_oneof![
                    (0..2_u64, 0..2_u64).prop_map(|(r, w)| [r, 0, w, 0]),
                    (0..3_u64, 0..2_u64).prop_map(|(r, w)| [0, r, w, 0]),
                    (0..3_u64, 0..3_u64).prop_map(|(r, w)| [0, r, 1, w]),
                    prop::array::uniform4(0..3_u64),
                ]),
            ),
            0..6,
        ),
        means in 0..3_u64,
    ) {
        // A length is never written, and all accesses to objects of unknown site are of others.
        let objects: Vec<Random> = objects
            .into_iter()
            .map(|(site, class, mut numbers)| {
                if class == 2 {
                    numbers[0][2..].fill(0);
                }
                if site.is_none() {
                    numbers = numbers.map(|[a, b, c, d]| [0, a + b, 0, c + d]);
                }
                (site, class, numbers)
            })
            .collect();
        let fields: Vec<Vec<_>> = objects
            .iter()
            .map(|it| CLASSES[it.1].1.iter().copied().zip(it.2).collect())
            .collect();
        let rows: Vec<Object<'_>> = objects
            .iter()
            .zip(&fields)
            .map(|(it, fields)| {
                (it.0.map_or("?", |site| SITES[site]), CLASSES[it.1].0, fields.as_slice())
            })
            .collect();
        let mut found: Vec<_> = advice(&rows)
            .iter()
            .map(|line| {
                let line = line.split(" [").next().unwrap();
                // The fields to keep apart.
                let words = line.split(' ').filter(|word| !word.contains('|'));
                words.collect::<Vec<_>>().join(" ")
            })
            .collect();
        found.sort_unstable();
        prop_assert_eq!(found, defined(&objects));
        // It is the same whichever means made the accesses.
        let parted: Vec<Vec<_>> = fields
            .iter()
            .map(|fields| {
                let part = |numbers: [u64; 4]| {
                    let extended = numbers.map(|number| number.min(means));
                    std::array::from_fn(|at| match at {
                        0..4 => numbers[at] - extended[at],
                        _ => extended[at - 4],
                    })
                };
                fields.iter().map(|&(name, numbers)| (name, part(numbers))).collect()
            })
            .collect();
        let by_means: Vec<Object<'_, 8>> = rows
            .iter()
            .zip(&parted)
            .map(|(&(site, class, _), fields)| (site, class, fields.as_slice()))
            .collect();
        prop_assert_eq!(advice(&by_means), advice(&rows));
    }
}
