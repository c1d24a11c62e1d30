//! Links functions with the same code once, for the size of the library, where the linker is Rust's own
//! for this target. Others may not have this option: zig's, which `make dist` uses, refuses it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    let is_x86_64 = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|it| it == "x86_64");
    if is_x86_64 && std::env::var_os("RUSTC_LINKER").is_none() {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}
