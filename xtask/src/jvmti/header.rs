//! A reader of `jvmti.h`. It knows just enough C for the declarations of this one header, which is
//! itself a generated file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// The declarations of `jvmti.h`, in their order.
#[derive(Debug, Default)]
pub(crate) struct Header {
    /// The Java version of the header.
    pub(crate) version: u32,
    /// `typedef jobject jthread;` and the like: name and meaning.
    pub(crate) aliases: Vec<(String, CType)>,
    /// Constants of the enums without a name: name and C expression.
    pub(crate) constants: Vec<(String, String)>,
    /// The enums with a name.
    pub(crate) enums: Vec<Enum>,
    /// The types of the functions that an agent passes to the JVM.
    pub(crate) functions: Vec<Function>,
    /// Structs and unions.
    pub(crate) records: Vec<Record>,
    /// The bit fields of `jvmtiCapabilities`: name and number of the bit.
    pub(crate) capabilities: Vec<(String, u32)>,
    /// The number of bits of `jvmtiCapabilities`, including the reserved ones.
    pub(crate) capability_bits: u32,
    /// The slots of `jvmtiEventCallbacks`.
    pub(crate) callbacks: Vec<Slot>,
    /// The slots of the function table.
    pub(crate) slots: Vec<Slot>,
}

/// A named enum.
#[derive(Debug)]
pub(crate) struct Enum {
    /// The type name.
    pub(crate) name: String,
    /// The constants: name and C expression.
    pub(crate) constants: Vec<(String, String)>,
}

/// A struct or a union.
#[derive(Debug)]
pub(crate) struct Record {
    /// The type name.
    pub(crate) name: String,
    /// Whether it is a union.
    pub(crate) is_union: bool,
    /// The fields: name and type.
    pub(crate) fields: Vec<(String, CType)>,
}

/// A function's type.
#[derive(Debug)]
pub(crate) struct Function {
    /// The name of the type, or of the slot that has it.
    pub(crate) name: String,
    /// The return type.
    pub(crate) result: CType,
    /// The parameters: name and type.
    pub(crate) parameters: Vec<(String, CType)>,
    /// Whether `...` follows the parameters.
    pub(crate) is_variadic: bool,
}

/// One pointer in a table of functions.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The field's name; `reservedN` if the table has a gap.
    pub(crate) name: String,
    /// The header's title for it; empty for a gap.
    pub(crate) title: String,
    /// The target of the pointer.
    pub(crate) target: Target,
}

/// The content of a slot.
#[derive(Debug)]
pub(crate) enum Target {
    /// Nothing yet: a gap in the function table.
    Reserved,
    /// A function spelled out in the slot.
    Function(Function),
    /// A function whose type is named.
    NamedItem(String),
}

/// A type: `const base *…*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CType {
    /// Whether the base is `const`.
    pub(crate) is_const: bool,
    /// The name that the stars follow.
    pub(crate) base: String,
    /// The number of stars.
    pub(crate) pointers: usize,
}

impl Header {
    /// Reads the header of the JDK at `java_home`.
    pub(crate) fn of_jdk(java_home: &Path) -> Result<Self> {
        let path = java_home.join("include/jvmti.h");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("cannot make sense of {}", path.display()))
    }

    /// Reads the text of a header.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut parser =
            Parser { tokens: tokenize(&c_part(text)), next: 0, comment: String::new() };
        let mut header = Self::default();
        while parser.peek().is_some() {
            parser.declaration(&mut header)?;
        }
        ensure!(!header.slots.is_empty(), "no function table");
        ensure!(!header.callbacks.is_empty(), "no event callbacks");
        ensure!(!header.capabilities.is_empty(), "no capabilities");
        Ok(header)
    }
}

/// Returns the text that a C compiler sees: without directives, and without the parts for C++ only.
fn c_part(text: &str) -> String {
    let mut is_cpp = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.starts_with('#') {
            is_cpp = line.starts_with("#ifdef __cplusplus");
        } else if !is_cpp {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Comment(String),
    Mark(char),
    Ellipsis,
}

fn tokenize(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length;
        if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").unwrap_or(comment.len());
            tokens.push(Token::Comment(comment[..end].trim().to_owned()));
            length = (end + 4).min(rest.len());
        } else if rest.starts_with("...") {
            tokens.push(Token::Ellipsis);
            length = 3;
        } else if first.is_ascii_alphanumeric() || first == '_' {
            length =
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..length].to_owned()));
        } else {
            tokens.push(Token::Mark(first));
            length = first.len_utf8();
        }
        rest = rest[length..].trim_start();
    }
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    /// The last comment that was passed. A slot's heading stands before the slot.
    comment: String,
}

impl Parser {
    fn peek(&mut self) -> Option<&Token> {
        while let Some(Token::Comment(text)) = self.tokens.get(self.next) {
            self.comment.clone_from(text);
            self.next += 1;
        }
        self.tokens.get(self.next)
    }

    fn take_mark(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.next += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(it)) if it == word);
        self.next += usize::from(found);
        found
    }

    fn mark(&mut self, mark: char) -> Result<()> {
        ensure!(self.take_mark(mark), "expected '{mark}', found {:?}", self.peek());
        Ok(())
    }

    fn word(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.next += 1;
                Ok(word)
            }
            other => bail!("expected a name, found {other:?}"),
        }
    }

    fn skip_past(&mut self, mark: char) {
        while self.peek().is_some() && !self.take_mark(mark) {
            self.next += 1;
        }
    }

    fn declaration(&mut self, header: &mut Header) -> Result<()> {
        if self.take_word("JNIEXPORT") {
            // This is an entry point that the agent exports, and not part of the table.
            self.skip_past(';');
        } else if self.take_word("enum") {
            for (name, value) in self.constants()? {
                if name == "JVMTI_VERSION" {
                    header.version = java_version(&value)?;
                } else {
                    header.constants.push((name, value));
                }
            }
            self.mark(';')?;
        } else if self.take_word("typedef") {
            self.typedef(header)?;
        } else {
            let is_union = self.take_word("union");
            ensure!(is_union || self.take_word("struct"), "unknown declaration: {:?}", self.peek());
            let name = self.word()?;
            if self.take_mark('{') {
                let fields = self.fields()?;
                // The C++ wrapper around the table contains nothing but a pointer to the table.
                if name != "_jvmtiEnv" {
                    header.records.push(Record { name, is_union, fields });
                }
            }
            self.mark(';')?;
        }
        Ok(())
    }

    fn typedef(&mut self, header: &mut Header) -> Result<()> {
        if self.take_word("enum") {
            let constants = self.constants()?;
            header.enums.push(Enum { name: self.word()?, constants });
            return self.mark(';');
        }
        let start = self.next;
        if self.take_word("struct") {
            if !self.take_mark('{') {
                self.word()?;
                if !self.take_mark('{') {
                    // `typedef struct x x;`, or a pointer to a struct that the JVM does not
                    // publish.
                    self.skip_past(';');
                    return Ok(());
                }
            }
            return self.table(header).with_context(|| format!("in the struct at token {start}"));
        }
        if self.take_word("union") {
            self.skip_past(';');
            return Ok(());
        }
        let meaning = self.c_type()?;
        if self.take_mark('(') {
            let function = self.function(meaning)?;
            header.functions.push(function);
        } else {
            let name = self.word()?;
            if name != "jvmtiEnv" {
                header.aliases.push((name, meaning));
            }
        }
        self.mark(';')
    }

    /// Reads one of the three structs that are declared together with their typedef.
    fn table(&mut self, header: &mut Header) -> Result<()> {
        let start = self.next;
        let mut depth = 1;
        while depth > 0 {
            match self.peek().context("a struct without an end")? {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') => depth -= 1,
                _ => {}
            }
            self.next += 1;
        }
        let name = self.word()?;
        self.next = start;
        match name.as_str() {
            "jvmtiCapabilities" => self.capabilities(header)?,
            "jvmtiEventCallbacks" => header.callbacks = self.slots()?,
            "jvmtiInterface_1" => header.slots = self.slots()?,
            _ => bail!("unknown table {name}"),
        }
        self.word()?;
        self.mark(';')
    }

    fn capabilities(&mut self, header: &mut Header) -> Result<()> {
        while !self.take_mark('}') {
            ensure!(self.take_word("unsigned") && self.take_word("int"), "not an unsigned int");
            if !self.take_mark(':') {
                header.capabilities.push((self.word()?, header.capability_bits));
                self.mark(':')?;
            }
            header.capability_bits += self.word()?.parse::<u32>()?;
            self.mark(';')?;
        }
        Ok(())
    }

    fn slots(&mut self) -> Result<Vec<Slot>> {
        let mut slots = Vec::new();
        while !self.take_mark('}') {
            // `9 : Get Thread Info`; a gap has the number alone, or the word RESERVED.
            let title = self.comment.split_once(':').map_or("", |(_, title)| title.trim());
            let title = if title == "RESERVED" { "" } else { title }.to_owned();
            let meaning = self.c_type()?;
            let (name, target) = if self.take_mark('(') {
                let function = self.function(meaning)?;
                (function.name.clone(), Target::Function(function))
            } else if meaning.base == "void" {
                (self.word()?, Target::Reserved)
            } else {
                (self.word()?, Target::NamedItem(meaning.base))
            };
            self.mark(';')?;
            slots.push(Slot { name, title, target });
        }
        Ok(slots)
    }

    fn fields(&mut self) -> Result<Vec<(String, CType)>> {
        let mut fields = Vec::new();
        while !self.take_mark('}') {
            let meaning = self.c_type()?;
            fields.push((self.word()?, meaning));
            self.mark(';')?;
        }
        Ok(fields)
    }

    fn constants(&mut self) -> Result<Vec<(String, String)>> {
        self.mark('{')?;
        let mut constants = Vec::new();
        while !self.take_mark('}') {
            let name = self.word()?;
            self.mark('=')?;
            let mut expression = String::new();
            while !matches!(self.peek(), None | Some(Token::Mark(',' | '}'))) {
                match self.peek() {
                    Some(Token::Word(word)) => expression.push_str(word),
                    Some(Token::Mark(mark)) => expression.push(*mark),
                    other => bail!("{other:?} in the value of {name}"),
                }
                self.next += 1;
            }
            constants.push((name, expression));
            self.take_mark(',');
        }
        Ok(constants)
    }

    /// Reads a function's type from after the parenthesis of `result (JNICALL *name) (parameters)`.
    fn function(&mut self, result: CType) -> Result<Function> {
        ensure!(self.take_word("JNICALL"), "a function pointer without JNICALL");
        self.mark('*')?;
        let name = self.word()?;
        self.mark(')')?;
        self.mark('(')?;
        let mut parameters = Vec::new();
        let mut is_variadic = false;
        while !self.take_mark(')') {
            if self.peek() == Some(&Token::Ellipsis) {
                self.next += 1;
                is_variadic = true;
                continue;
            }
            let meaning = self.c_type()?;
            // `(void)` represents an empty list of parameters.
            if self.peek() != Some(&Token::Mark(')')) {
                parameters.push((self.word()?, meaning));
            }
            self.take_mark(',');
        }
        Ok(Function { name, result, parameters, is_variadic })
    }

    fn c_type(&mut self) -> Result<CType> {
        let is_const = self.take_word("const");
        self.take_word("struct");
        let mut base = self.word()?;
        if base == "unsigned" {
            base = format!("unsigned {}", self.word()?);
        }
        let mut pointers = 0;
        while self.take_mark('*') {
            pointers += 1;
        }
        Ok(CType { is_const, base, pointers })
    }
}

/// Returns the 25 of `0x30000000+(25*0x10000)+(0*0x100)+0`.
fn java_version(value: &str) -> Result<u32> {
    let version = value.split_once("+(").and_then(|(_, rest)| rest.split_once("*0x10000"));
    let (version, _) = version.with_context(|| format!("no Java version in {value}"))?;
    Ok(version.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
#ifdef __cplusplus
typedef _jvmtiEnv jvmtiEnv;
#else
typedef const struct jvmtiInterface_1_ *jvmtiEnv;
#endif
enum { JVMTI_VERSION_1 = 0x30010000, MASK = A | B, JVMTI_VERSION = 0x30000000 + (17 * 0x10000) + 0 };
typedef enum { JVMTI_ENABLE = 1, JVMTI_DISABLE = 0 } jvmtiEventMode;
typedef jobject jthread;
struct jvmtiThreadInfo;
typedef struct jvmtiThreadInfo jvmtiThreadInfo;
struct jvmtiThreadInfo { char* name; const unsigned char* bytes; };
typedef void (JNICALL *jvmtiExtensionEvent) (jvmtiEnv* jvmti_env,  ...);
typedef void (JNICALL *jvmtiEventReserved)(void);
typedef struct { unsigned int can_a : 1; unsigned int : 2; unsigned int can_b : 1; } jvmtiCapabilities;
typedef struct { /* 50 : VM Init */ jvmtiEventVMInit VMInit; /* 51 */ jvmtiEventReserved reserved51; } jvmtiEventCallbacks;
typedef struct jvmtiInterface_1_ {
  /*   1 :  RESERVED */
  void *reserved1;
  /*   2 : Get Phase */
  jvmtiError (JNICALL *GetPhase) (jvmtiEnv* env, const jthread** phase_ptr);
} jvmtiInterface_1;
"#;

    #[test]
    fn reads_each_kind_of_declaration() {
        let header = Header::parse(SMALL).unwrap();
        assert_eq!(header.constants[1], ("MASK".to_owned(), "A|B".to_owned()));
        assert_eq!(header.version, 17);
        assert_eq!(header.enums[0].constants.len(), 2);
        assert_eq!(header.aliases.len(), 1, "jvmtiEnv is written by hand");
        assert_eq!(header.records[0].fields[1].1.base, "unsigned char");
        assert!(header.functions[0].is_variadic);
        assert!(header.functions[1].parameters.is_empty());
        assert_eq!(header.capabilities, [("can_a".to_owned(), 0), ("can_b".to_owned(), 3)]);
        assert_eq!(header.capability_bits, 4);
        assert_eq!(header.callbacks[0].title, "VM Init");
        assert_eq!(header.callbacks[1].title, "");
        assert_eq!(header.slots[0].name, "reserved1");
        assert_eq!(header.slots[1].title, "Get Phase");
        let Target::Function(get_phase) = &header.slots[1].target else { panic!("no function") };
        assert_eq!(
            get_phase.parameters[1].1,
            CType { is_const: true, base: "jthread".to_owned(), pointers: 2 }
        );
    }

    #[test]
    fn says_what_it_cannot_read() {
        let error = Header::parse("typedef enum { A } x;").unwrap_err();
        assert!(error.to_string().contains("expected '='"), "{error}");
        assert!(Header::parse("").unwrap_err().to_string().contains("no function table"));
    }
}
