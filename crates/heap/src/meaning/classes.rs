//! The classes whose objects have a meaning.

use crate::{ClassIndex, Heap, Meaning, ObjectId, Value};

use super::lists::{self, Sequence};
use super::maps::{self, Pairs};
use super::model::Item;
use super::object_reader::ObjectReader;
use super::reader::{Instance, MeaningReader, NESTED, above, deeper};
use super::{numbers, objects, text, times};

/// Returns the known class among a class and those above it, and how its objects are read.
pub(super) fn of(heap: &Heap, class: ClassIndex) -> Option<(ClassIndex, ObjectReader)> {
    above(heap, class).find_map(|it| Some((it, named(&heap.class(it).name)?)))
}

/// Returns the meaning of an object.
pub(super) fn meaning(reader: &MeaningReader<'_>, object: ObjectId) -> Option<Meaning> {
    let heap = reader.heap;
    if let Some(class) = heap.as_class(object) {
        return Some(Meaning::Plain(format!("class {}", heap.class(class).name)));
    }
    let class = heap.class_of(object);
    if heap.class(class).name.ends_with("[]") {
        return lists::array(reader, object);
    }
    of(heap, class)?;
    let (object, known) = reader.instance(object)?.known()?;
    let wanted = reader.element_count();
    match known {
        ObjectReader::Value(read) => read(&object),
        ObjectReader::Sequence(read) => Some(read(&object, wanted)?.meaning(reader)),
        ObjectReader::Pairs(read) => Some(read(&object, wanted)?.meaning(reader)),
    }
}

impl MeaningReader<'_> {
    /// Returns a value in a few words.
    pub(super) fn item(&self, value: Value) -> Item {
        let Value::Reference(address) = value else { return Item::plain(value.text()) };
        if address == 0 {
            return Item::plain("null");
        }
        let Some(object) = self.heap.find(address) else {
            let text = format!("0x{address:x} (not in the dump)");
            return Item { address: Some(address), class: None, text };
        };
        let class = self.heap.class_of(object);
        let name = &self.heap.class(class).name;
        let found = deeper(&self.nested, NESTED, || meaning(self, object)).flatten();
        let text = match found {
            Some(meaning) => meaning.brief(name),
            None => format!("{name} @ 0x{address:x}"),
        };
        Item { address: Some(address), class: Some(class), text }
    }
}

impl Instance<'_, '_> {
    /// The same with the fields of the known class above it, or its own, and those above that: a class
    /// of the program's may have fields of the same names.
    pub(super) fn known(mut self) -> Option<(Self, ObjectReader)> {
        let heap = self.reader.heap;
        let (class, known) = of(heap, self.class)?;
        if class != self.class {
            self.fields.retain(|it| it.class == class || !heap.is_subclass(it.class, class));
        }
        Some((self, known))
    }
}

/// Returns how the objects of the class of this name are read.
fn named(name: &str) -> Option<ObjectReader> {
    // Most classes are the program's own.
    let is_candidate = ["java.", "sun.", "android", "jdk."].iter().any(|it| name.starts_with(it));
    if !is_candidate {
        return None;
    }
    value(name)
        .map(ObjectReader::Value)
        .or_else(|| sequence(name).map(ObjectReader::Sequence))
        .or_else(|| pairs(name).map(ObjectReader::Pairs))
}

fn value(name: &str) -> Option<fn(&Instance<'_, '_>) -> Option<Meaning>> {
    Some(match name {
        "java.lang.String" => text::string,
        "java.lang.AbstractStringBuilder" => text::builder,
        "java.io.File" => |it| text::field(it, "path"),
        "sun.nio.fs.UnixPath"
        | "sun.nio.fs.WindowsPath"
        | "jdk.nio.zipfs.ZipPath"
        | "jdk.internal.jrtfs.JrtPath" => text::path,
        "java.net.URI" => text::uri,
        "java.net.URL" => text::url,
        "java.util.Locale" => text::locale,
        "java.util.Currency" => |it| text::field(it, "currencyCode"),
        "java.util.regex.Pattern" => |it| text::field(it, "pattern"),
        "java.util.zip.ZipFile" | "java.lang.ThreadGroup" | "java.lang.Module" => {
            |it| text::field(it, "name")
        }
        "java.net.InetAddress" | "java.net.Inet6Address" => text::address,
        "java.net.InetSocketAddress" => text::socket_address,
        "java.lang.Enum" => |it| Some(Meaning::Plain(it.text("name")?)),

        "java.lang.Boolean"
        | "java.lang.Character"
        | "java.lang.Byte"
        | "java.lang.Short"
        | "java.lang.Integer"
        | "java.lang.Long"
        | "java.lang.Float"
        | "java.lang.Double"
        | "java.util.concurrent.atomic.AtomicInteger"
        | "java.util.concurrent.atomic.AtomicLong" => numbers::boxed,
        "java.util.concurrent.atomic.AtomicBoolean" => numbers::atomic_boolean,
        "java.util.concurrent.atomic.LongAdder" => numbers::adder,
        "java.math.BigInteger" => numbers::big_integer,
        "java.math.BigDecimal" => numbers::big_decimal,
        "java.util.UUID" => numbers::uuid,
        "java.util.OptionalInt" | "java.util.OptionalLong" | "java.util.OptionalDouble" => {
            numbers::optional
        }

        "java.util.Date" => times::date,
        "java.sql.Timestamp" => times::timestamp,
        "java.util.Calendar" => times::calendar,
        "java.util.TimeZone" => |it| text::field(it, "ID"),
        "java.time.Instant"
        | "java.time.LocalDate"
        | "java.time.LocalTime"
        | "java.time.LocalDateTime"
        | "java.time.OffsetTime"
        | "java.time.OffsetDateTime"
        | "java.time.ZonedDateTime"
        | "java.time.Duration"
        | "java.time.Period"
        | "java.time.Year"
        | "java.time.YearMonth"
        | "java.time.MonthDay"
        | "java.time.ZoneOffset"
        | "java.time.ZoneRegion" => times::time,

        "java.util.Optional" => objects::optional,
        "java.util.concurrent.atomic.AtomicReference" => |it| objects::wrapper(it, "value"),
        "java.lang.ref.Reference" => objects::reference,
        "java.lang.Thread" | "java.lang.VirtualThread" => objects::thread,
        "java.lang.Throwable" => objects::throwable,
        "java.nio.Buffer" => objects::buffer,
        "java.lang.ClassLoader" => objects::class_loader,
        "java.lang.reflect.Method" | "java.lang.reflect.Field" => objects::member,
        "java.lang.StackTraceElement" => objects::frame,
        "java.util.HashMap$Node"
        | "java.util.Hashtable$Entry"
        | "java.util.TreeMap$Entry"
        | "java.util.AbstractMap$SimpleEntry"
        | "java.util.AbstractMap$SimpleImmutableEntry"
        | "java.util.KeyValueHolder" => |it| objects::entry(it, "value"),
        "java.util.concurrent.ConcurrentHashMap$Node"
        | "java.util.concurrent.ConcurrentHashMap$MapEntry" => |it| objects::entry(it, "val"),
        _ => return None,
    })
}

fn sequence(name: &str) -> Option<fn(&Instance<'_, '_>, usize) -> Option<Sequence>> {
    Some(match name {
        "java.util.ArrayList" => |it, wanted| lists::sized(it, "elementData", "size", wanted),
        "java.util.Vector" => |it, wanted| lists::sized(it, "elementData", "elementCount", wanted),
        "java.util.PriorityQueue" | "java.util.concurrent.PriorityBlockingQueue" => {
            |it, wanted| lists::sized(it, "queue", "size", wanted)
        }
        "java.util.Arrays$ArrayList" => |it, wanted| lists::whole(it, "a", wanted),
        "java.util.concurrent.CopyOnWriteArrayList" => |it, wanted| {
            lists::whole(it, "array", wanted).or_else(|| lists::whole(it, "elements", wanted))
        },
        "java.util.ImmutableCollections$ListN" => |it, wanted| lists::whole(it, "elements", wanted),
        "java.util.concurrent.atomic.AtomicIntegerArray"
        | "java.util.concurrent.atomic.AtomicLongArray"
        | "java.util.concurrent.atomic.AtomicReferenceArray" => {
            |it, wanted| lists::whole(it, "array", wanted)
        }
        "java.util.ImmutableCollections$SetN" => lists::probed,
        "java.util.ImmutableCollections$List12"
        | "java.util.ImmutableCollections$Set12"
        | "java.util.ImmutableCollections$List0"
        | "java.util.ImmutableCollections$List1"
        | "java.util.ImmutableCollections$List2"
        | "java.util.ImmutableCollections$Set0"
        | "java.util.ImmutableCollections$Set1"
        | "java.util.ImmutableCollections$Set2" => lists::one_or_two,
        "java.util.ImmutableCollections$SubList" | "java.util.ArrayList$SubList" => lists::part,
        "java.util.ArrayDeque" => lists::deque,
        "java.util.concurrent.ArrayBlockingQueue" => lists::ring,
        "java.util.LinkedList" => lists::linked,
        "java.util.concurrent.LinkedBlockingDeque" => {
            |it, wanted| lists::chain(it, it.address("first")?, "item", it.size("count"), wanted)
        }
        "java.util.concurrent.LinkedBlockingQueue" => lists::counted_queue,
        "java.util.concurrent.ConcurrentLinkedQueue"
        | "java.util.concurrent.ConcurrentLinkedDeque" => {
            |it, wanted| lists::chain(it, it.address("head")?, "item", None, wanted)
        }
        "java.util.RegularEnumSet" | "java.util.JumboEnumSet" => lists::enum_set,
        "java.util.Collections$EmptyList" | "java.util.Collections$EmptySet" => {
            |_, _| Some(Sequence::default())
        }
        "java.util.Collections$SingletonList" | "java.util.Collections$SingletonSet" => {
            |it, wanted| lists::same(it.value("element")?, 1, wanted)
        }
        "java.util.Collections$CopiesList" => {
            |it, wanted| lists::same(it.value("element")?, it.size("n")?, wanted)
        }
        "java.util.Collections$UnmodifiableCollection"
        | "java.util.Collections$SynchronizedCollection"
        | "java.util.Collections$CheckedCollection" => |it, wanted| lists::inner(it, "c", wanted),
        "java.util.Collections$AsLIFOQueue" => |it, wanted| lists::inner(it, "q", wanted),
        "java.util.concurrent.CopyOnWriteArraySet" => |it, wanted| lists::inner(it, "al", wanted),
        "java.util.HashSet" => |it, wanted| maps::keys(it, "map", wanted),
        "java.util.TreeSet"
        | "java.util.concurrent.ConcurrentSkipListSet"
        | "java.util.Collections$SetFromMap"
        | "java.util.TreeMap$KeySet" => |it, wanted| maps::keys(it, "m", wanted),
        "java.util.HashMap$KeySet"
        | "java.util.LinkedHashMap$LinkedKeySet"
        | "java.util.Hashtable$KeySet"
        | "java.util.WeakHashMap$KeySet" => |it, wanted| maps::keys(it, "this$0", wanted),
        "java.util.HashMap$Values"
        | "java.util.LinkedHashMap$LinkedValues"
        | "java.util.TreeMap$Values" => |it, wanted| maps::values(it, "this$0", wanted),
        "java.util.concurrent.ConcurrentHashMap$KeySetView" => {
            |it, wanted| maps::keys(it, "map", wanted)
        }
        "java.util.concurrent.ConcurrentHashMap$ValuesView" => {
            |it, wanted| maps::values(it, "map", wanted)
        }
        "android.util.ArraySet" | "androidx.collection.ArraySet" => lists::array_set,
        _ => return None,
    })
}

fn pairs(name: &str) -> Option<fn(&Instance<'_, '_>, usize) -> Option<Pairs>> {
    Some(match name {
        "java.util.LinkedHashMap" => maps::linked,
        "java.util.HashMap" => |it, wanted| maps::chained(it, "size", wanted),
        "java.util.Hashtable" => |it, wanted| maps::chained(it, "count", wanted),
        "java.util.Properties" => maps::properties,
        "java.util.WeakHashMap" => maps::weak,
        "java.util.concurrent.ConcurrentHashMap" => maps::concurrent,
        "java.util.concurrent.ConcurrentSkipListMap" => maps::skip_list,
        "java.util.TreeMap" => maps::tree,
        "java.util.IdentityHashMap" => maps::identity,
        "java.util.EnumMap" => maps::enum_map,
        "java.util.ImmutableCollections$Map0" | "java.util.Collections$EmptyMap" => {
            |_, _| Some(Pairs::default())
        }
        "java.util.ImmutableCollections$Map1" => |it, wanted| maps::single(it, "k0", "v0", wanted),
        "java.util.ImmutableCollections$MapN" => maps::probed,
        "java.util.Collections$SingletonMap" => |it, wanted| maps::single(it, "k", "v", wanted),
        "java.util.Collections$UnmodifiableMap"
        | "java.util.Collections$SynchronizedMap"
        | "java.util.Collections$CheckedMap" => |it, wanted| maps::inner(it, "m", wanted),
        "android.util.ArrayMap"
        | "android.util.SimpleArrayMap"
        | "androidx.collection.SimpleArrayMap"
        | "android.support.v4.util.SimpleArrayMap" => maps::array_map,
        "android.util.SparseArray"
        | "android.util.SparseIntArray"
        | "android.util.SparseBooleanArray"
        | "android.util.SparseLongArray"
        | "android.util.LongSparseArray"
        | "androidx.collection.SparseArrayCompat"
        | "androidx.collection.LongSparseArray" => maps::sparse_array,
        _ => return None,
    })
}
