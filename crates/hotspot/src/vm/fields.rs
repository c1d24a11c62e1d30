//! The fields that lead to the frames of a virtual thread.

/// The offsets of the fields that lead to the frames of a virtual thread, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct VirtualThreadFields {
    pub(super) continuation: usize,
    pub(super) tail: usize,
    pub(super) parent: usize,
    pub(super) size: usize,
    pub(super) sp: usize,
    pub(super) bottom: Bottom,
}

/// The end of the frames in a chunk, in words.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bottom {
    /// From the chunk's first word.
    Begin(usize),
    /// From its last one.
    End(usize),
}
