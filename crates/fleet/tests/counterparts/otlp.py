"""Decodes a request to export profiles (OTLP, v1development).

    otlp.py FILE

Prints JSON with all indices resolved; stacks have the leaf first. Faults are what the comments of profiles.proto
forbid: indices out of range, a table whose first entry is not the zero value, entries that a table has twice,
numbers of values and timestamps that differ, an attribute that is there twice, ids of a wrong length; and
unknown fields. Entries that nothing refers to, and samples that only differ in their values, are counted.
"""

import collections
import json
import sys

from google.protobuf import message, unknown_fields
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2

TABLES = ["mapping", "location", "function", "link", "string", "attribute", "stack"]


class Fault(Exception):
    pass


def check_unknown(what, path):
    unknown = [field.field_number for field in unknown_fields.UnknownFieldSet(what)]
    if unknown:
        raise Fault(f"{path} has unknown fields: {unknown}")
    for field, value in what.ListFields():
        if field.message_type is not None:
            values = [value] if isinstance(value, message.Message) else value
            for n, part in enumerate(values):
                check_unknown(part, f"{path}.{field.name}[{n}]")


class Dictionary:
    def __init__(self, dictionary):
        self.tables = {name: getattr(dictionary, f"{name}_table") for name in TABLES}
        self.used = {name: {0} for name in TABLES}
        for name, table in self.tables.items():
            keys = [entry if name == "string" else entry.SerializeToString(deterministic=True) for entry in table]
            if not keys or keys[0]:
                raise Fault(f"the first entry of the {name} table is not the zero value")
            twice = [key for key, count in collections.Counter(keys).items() if count > 1]
            if twice:
                raise Fault(f"the {name} table has an entry twice: index {keys.index(twice[0])}, {twice[0]!r}")

    def get(self, name, index):
        if not 0 <= index < len(self.tables[name]):
            raise Fault(f"index {index} is not in the {name} table, which has {len(self.tables[name])} entries")
        self.used[name].add(index)
        return self.tables[name][index]

    def string(self, index):
        return self.get("string", index)

    def value(self, value):
        kind = value.WhichOneof("value")
        if kind is None:
            return None
        found = getattr(value, kind)
        match kind:
            case "string_value_strindex":
                return self.string(found)
            case "bytes_value":
                return found.hex()
            case "array_value":
                return [self.value(part) for part in found.values]
            case "kvlist_value":
                return self.direct_attributes(found.values)
        return found

    def direct_attributes(self, pairs):
        found = {}
        for pair in pairs:
            if pair.key and pair.key_strindex:
                raise Fault(f"the attribute {pair.key} has a key and the index of one")
            self.add(found, pair.key or self.string(pair.key_strindex), self.value(pair.value))
        return found

    def attributes(self, indices):
        found = {}
        for index in indices:
            entry = self.get("attribute", index)
            value, unit = self.value(entry.value), self.string(entry.unit_strindex)
            self.add(found, self.string(entry.key_strindex), {"value": value, "unit": unit} if unit else value)
        return found

    @staticmethod
    def add(attributes, key, value):
        if key in attributes:
            raise Fault(f"the attribute {key} is there twice")
        attributes[key] = value

    def frames(self, stack):
        for index in self.get("stack", stack).location_indices:
            location = self.get("location", index)
            mapping = self.get("mapping", location.mapping_index)
            self.string(mapping.filename_strindex)
            self.attributes(mapping.attribute_indices)
            self.attributes(location.attribute_indices)
            if not location.lines:
                yield hex(location.address), "", 0
            # The first line is the innermost inlined function.
            for line in location.lines:
                function = self.get("function", line.function_index)
                self.string(function.system_name_strindex)
                yield self.string(function.name_strindex), self.string(function.filename_strindex), line.line

    def link(self, index):
        link = self.get("link", index)
        if index == 0:
            return None
        if len(link.trace_id) != 16 or len(link.span_id) != 8:
            raise Fault(f"link {index} has ids of {len(link.trace_id)} and {len(link.span_id)} bytes")
        return {"trace_id": link.trace_id.hex(), "span_id": link.span_id.hex()}

    def check_all(self):
        """Resolves what no sample refers to as well, and returns how many entries nothing refers to."""
        used = {name: set(indices) for name, indices in self.used.items()}
        for index in range(len(self.tables["attribute"])):
            self.attributes([index])
        for index in range(len(self.tables["link"])):
            self.link(index)
        for index in range(len(self.tables["stack"])):
            list(self.frames(index))
        for location in self.tables["location"]:
            self.get("mapping", location.mapping_index)
            self.attributes(location.attribute_indices)
            for line in location.lines:
                self.get("function", line.function_index)
        for function in self.tables["function"]:
            for index in [function.name_strindex, function.system_name_strindex, function.filename_strindex]:
                self.string(index)
        for mapping in self.tables["mapping"]:
            self.string(mapping.filename_strindex)
            self.attributes(mapping.attribute_indices)
        return {name: len(table) - len(used[name]) for name, table in self.tables.items()}


def decode_sample(sample, dictionary):
    if not sample.values and not sample.timestamps_unix_nano:
        raise Fault("a sample has neither a value nor a timestamp")
    if sample.values and sample.timestamps_unix_nano and len(sample.values) != len(sample.timestamps_unix_nano):
        raise Fault(f"a sample has {len(sample.values)} values at {len(sample.timestamps_unix_nano)} times")
    frames = list(dictionary.frames(sample.stack_index))
    return {
        "values": list(sample.values),
        "timestamps": list(sample.timestamps_unix_nano),
        "stack": [name for name, _, _ in frames],
        "files": [file for _, file, _ in frames],
        "lines": [line for _, _, line in frames],
        "attributes": dictionary.attributes(sample.attribute_indices),
        "link": dictionary.link(sample.link_index),
    }


def decode_profile(profile, dictionary):
    if len(profile.profile_id) not in (0, 16):
        raise Fault(f"a profile's id has {len(profile.profile_id)} bytes")
    samples = [decode_sample(sample, dictionary) for sample in profile.samples]
    identities = {(s.stack_index, frozenset(s.attribute_indices), s.link_index) for s in profile.samples}
    return {
        "type": dictionary.string(profile.sample_type.type_strindex),
        "unit": dictionary.string(profile.sample_type.unit_strindex),
        "period_type": dictionary.string(profile.period_type.type_strindex),
        "period_unit": dictionary.string(profile.period_type.unit_strindex),
        "period": profile.period,
        "time_unix_nano": profile.time_unix_nano,
        "duration_nano": profile.duration_nano,
        "profile_id": profile.profile_id.hex(),
        "attributes": dictionary.attributes(profile.attribute_indices),
        "sum": sum(sum(sample["values"]) for sample in samples),
        "count": len(samples),
        "alike": len(samples) - len(identities),
        "samples": samples,
    }


def decode(file):
    request = profiles_service_pb2.ExportProfilesServiceRequest()
    with open(file, "rb") as opened:
        request.ParseFromString(opened.read())
    check_unknown(request, "request")
    dictionary = Dictionary(request.dictionary)
    resources = []
    for resource in request.resource_profiles:
        scopes = []
        for scope in resource.scope_profiles:
            scopes.append({
                "name": scope.scope.name,
                "version": scope.scope.version,
                "attributes": dictionary.direct_attributes(scope.scope.attributes),
                "schema_url": scope.schema_url,
                "profiles": [decode_profile(profile, dictionary) for profile in scope.profiles],
            })
        resources.append({
            "attributes": dictionary.direct_attributes(resource.resource.attributes),
            "schema_url": resource.schema_url,
            "scopes": scopes,
        })
    return {"resources": resources, "unused": dictionary.check_all()}


try:
    print(json.dumps(decode(sys.argv[1]), indent=2))
except (Fault, message.DecodeError) as fault:
    sys.exit(f"{sys.argv[1]}: {fault}")
