//! The probes of allocations that pass the number of their site.
//!
//! They do not need to know where the thread is: a site is an instruction. So no other probe is in the method.

use perk_classfile::{
    Code, Error, Initialization, Instruction, MemberRef, Operands, Place, Reach,
    UninitializedObject, opcode,
};

use crate::fresh;
use crate::helper::Helper;
use crate::probe::ProbeCall;
use crate::scan::{Kinds, Scanner, array_probe};
use crate::site::{NEW_BYTES, SourceLines};
use crate::{MethodName, Methods};

impl Scanner<'_> {
    /// Fills the empty plan with the probes of a method, in the order of pcs. Returns the reason if some are missing.
    pub(crate) fn scan_sites(
        &mut self,
        code: &Code<'_>,
        kinds: Kinds,
        method: &MethodName<'_>,
        methods: &mut dyn Methods,
    ) -> Result<Option<String>, Error> {
        let lines = SourceLines::of(code)?;
        let mut site = |pc: u16| methods.allocation(method, lines.at(pc));
        // The pcs of `new`, with the sites.
        let mut news = Vec::new();
        for instruction in code.instructions() {
            let instruction = instruction?;
            let pc = instruction.pc;
            match (instruction.opcode, instruction.operands()) {
                (_, Operands::Switch(_)) => self.plan.switch_count += 1,
                (opcode::NEW, _) if kinds.allocations => news.push((pc, site(pc))),
                (opcode::INVOKEDYNAMIC, Operands::Constant(index)) if kinds.allocations => {
                    let (_, descriptor) = self.class.pool().dynamic(index)?;
                    if may_capture(descriptor) {
                        self.fresh_at(&instruction, Helper::CAPTURED_AT, site(pc));
                    }
                }
                (opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE, Operands::Constant(index)) => {
                    let callee = self.class.pool().member_ref(index)?;
                    if kinds.allocations {
                        self.call_at(&instruction, &callee, method, &mut site)?;
                    } else if kinds.withholds && fresh::has_probe_inside(&callee) {
                        self.plan.add(pc, Reach::All, ProbeCall::Plain(Helper::WITHHOLD));
                    }
                }
                _ => {
                    if let Some(helper) = array_probe(&instruction).filter(|_| kinds.allocations) {
                        self.fresh_at(&instruction, helper.at_site(), site(pc));
                    }
                }
            }
        }
        let missing = match news.is_empty() {
            true => None,
            false => self.constructions(code, method.name == b"<init>", &news)?,
        };
        // A stable sort keeps the probes of a pc in their order.
        self.plan.probes.sort_by_key(|probe| (probe.pc, probe.reach));
        Ok(missing)
    }

    /// Adds the probes for the object or array that a call returns.
    fn call_at(
        &mut self,
        call: &Instruction<'_>,
        callee: &MemberRef<'_>,
        method: &MethodName<'_>,
        site: &mut dyn FnMut(u16) -> u32,
    ) -> Result<(), Error> {
        let (pc, next_pc) = (call.pc, call.next_pc());
        match fresh::behind(self.class, call, callee)? {
            Some(Helper::CLONED) => {
                self.plan.add(pc, Reach::All, ProbeCall::Receiver);
                self.plan.add(next_pc, Reach::FallThrough, ProbeCall::ClonedAt(site(pc)));
            }
            Some(Helper::CLONED_ABOVE) => {
                let what = ProbeCall::ClonedAboveAt(self.class.this_class(), site(pc));
                self.plan.add(next_pc, Reach::FallThrough, what);
            }
            // A method handle's constructor runs on it later. That of a lambda is counted where the lambda is.
            Some(Helper::MADE) if fresh::makes_for_constructor(method) => {
                self.fresh_at(call, Helper::CONSTRUCTED_AT, site(pc));
            }
            Some(helper) => self.fresh_at(call, helper.at_site(), site(pc)),
            None if fresh::is_construction(callee) => {
                self.fresh_at(call, Helper::CONSTRUCTED_AT, site(pc));
            }
            None => {}
        }
        Ok(())
    }

    /// Adds the probes after the calls of constructors for the objects of `new` at these pcs.
    fn constructions(
        &mut self,
        code: &Code<'_>,
        is_constructor: bool,
        news: &[(u16, u32)],
    ) -> Result<Option<String>, Error> {
        let Some(found) = code.initializations(is_constructor)? else {
            return Ok(Some(
                "its control flow is too intricate for the objects that it makes".to_owned(),
            ));
        };
        let mut lost_count = 0;
        for Initialization { next_pc, object, place } in found.calls {
            let site = match object {
                UninitializedObject::This => continue,
                UninitializedObject::New(pc) => news.binary_search_by_key(&pc, |new| new.0),
                UninitializedObject::Unknown => Err(0),
            };
            let what = match (site, place) {
                (Ok(at), Place::Top) => ProbeCall::FreshAt(Helper::CREATED_AT, news[at].1),
                (Ok(at), Place::Local(local)) => ProbeCall::LocalAt(local, news[at].1),
                (Ok(at), Place::Dropped { held }) => {
                    self.plan.held_words = self.plan.held_words.max(held);
                    let after_new = news[at].0.saturating_add(NEW_BYTES);
                    self.plan.add(after_new, Reach::FallThrough, ProbeCall::Receiver);
                    ProbeCall::SpareAt(news[at].1)
                }
                _ => {
                    lost_count += 1;
                    continue;
                }
            };
            self.plan.add(next_pc, Reach::FallThrough, what);
        }
        let reason = || format!("objects that it makes are not counted at {lost_count} places");
        Ok((lost_count > 0).then(reason))
    }

    fn fresh_at(&mut self, instruction: &Instruction<'_>, helper: Helper, site: u32) {
        let what = ProbeCall::FreshAt(helper, site);
        self.plan.add(instruction.next_pc(), Reach::FallThrough, what);
    }
}

/// Whether a call site takes values and returns an object that is not a text: it may make a lambda of them.
fn may_capture(descriptor: &[u8]) -> bool {
    let end = descriptor.iter().position(|byte| *byte == b')').unwrap_or(0);
    let result = descriptor.get(end + 1..).unwrap_or_default();
    end > 1 && result.starts_with(b"L") && result != b"Ljava/lang/String;"
}
