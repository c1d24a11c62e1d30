//! What the caller provides.

use std::cell::Cell;

/// Checked reads of this process's memory. Reads never fault: memory that cannot be read is `None`.
/// All of it is async-signal-safe. Addresses need not be aligned.
pub trait Memory {
    /// Reads a word of 8 bytes.
    fn word(&self, address: usize) -> Option<usize>;

    /// Reads a word as it is now, also where the results of earlier reads are kept.
    fn word_now(&self, address: usize) -> Option<usize> {
        self.word(address)
    }

    /// Reads a byte. By default it reads the aligned word that holds it, which cannot cross the end
    /// of a mapping.
    fn u8(&self, address: usize) -> Option<u8> {
        let word = self.word(address & !7)?;
        Some((word >> ((address & 7) * 8)) as u8)
    }

    /// Reads 2 bytes.
    fn u16(&self, address: usize) -> Option<u16> {
        if address & 7 == 7 {
            let high = self.u8(address.wrapping_add(1))?;
            return Some(u16::from_le_bytes([self.u8(address)?, high]));
        }
        let word = self.word(address & !7)?;
        Some((word >> ((address & 7) * 8)) as u16)
    }

    /// Reads 4 bytes.
    fn u32(&self, address: usize) -> Option<u32> {
        if address & 7 > 4 {
            let high = self.u16(address.wrapping_add(2))?;
            return Some(u32::from(self.u16(address)?) | u32::from(high) << 16);
        }
        let word = self.word(address & !7)?;
        Some((word >> ((address & 7) * 8)) as u32)
    }
}

/// Reads memory as it is now.
pub(super) struct CurrentMemory<'a, M>(pub(super) &'a M);

impl<M: Memory> Memory for CurrentMemory<'_, M> {
    fn word(&self, address: usize) -> Option<usize> {
        self.0.word_now(address)
    }
}

/// Keeps the last word, for reads of bytes in a row.
pub(super) struct LastWord<'a, M> {
    memory: &'a M,
    last: Cell<Option<(usize, usize)>>,
}

impl<'a, M: Memory> LastWord<'a, M> {
    pub(super) fn of(memory: &'a M) -> Self {
        Self { memory, last: Cell::new(None) }
    }
}

impl<M: Memory> Memory for LastWord<'_, M> {
    fn word(&self, address: usize) -> Option<usize> {
        if let Some((_, word)) = self.last.get().filter(|last| last.0 == address) {
            return Some(word);
        }
        let word = self.memory.word(address)?;
        self.last.set(Some((address, word)));
        Some(word)
    }
}

/// The exported data of libjvm.
pub trait Symbols {
    /// Returns the address of an exported symbol of libjvm, as of `dlsym`.
    fn address(&self, name: &str) -> Option<usize>;
}
