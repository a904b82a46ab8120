//! Whether this process may use AMX.

use core::arch::asm;
use core::arch::x86_64::__cpuid_count;
use std::sync::OnceLock;

/// Returns whether the processor has AMX for bf16 and bytes, and the system lets this process use it.
pub(super) fn is_permitted() -> bool {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    *PERMITTED.get_or_init(|| {
        const BF16: u32 = 1 << 22;
        const TILE: u32 = 1 << 24;
        const INT8: u32 = 1 << 25;
        let all = BF16 | TILE | INT8;
        __cpuid_count(0, 0).eax >= 7 && __cpuid_count(7, 0).edx & all == all && ask()
    })
}

/// Asks Linux for permission to use the tile registers, for the process and its later threads. Without permission,
/// their first use would kill the process.
#[cfg(target_os = "linux")]
fn ask() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const REQUEST_PERMISSION: u64 = 0x1023;
    const TILE_DATA: u64 = 18;
    let result: i64;
    // SAFETY: the call takes two numbers and touches no memory; a system that does not support it returns an error.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") REQUEST_PERMISSION,
            in("rsi") TILE_DATA,
            out("rcx") _,
            out("r11") _,
            options(nostack)
        );
    }
    result == 0
}

/// Returns false: asking other systems has not been tried.
#[cfg(not(target_os = "linux"))]
fn ask() -> bool {
    false
}
