// Stands in for one library of CUDA when the program is linked, and opens the real one at the first call.
//
// candle links these libraries, so without this a program with the feature `cuda` would not even start on a machine
// without a GPU. NAMES is a file with one line `NAME(function)` for each function, LIBRARY the real library, MISSING
// the status that every function returns if there is none. toolkit.py compiles this, once for each library.
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#ifndef __x86_64__
#error "the jumps below are written for x86-64"
#endif

// A function's real address, or null before its first call. Its name follows.
struct entry {
  void *address;
  char name[];
};

// The jump of each function. Register r11 may be changed between a caller and a function.
#define NAME(name)                        \
  asm(".pushsection .data\n"              \
      ".balign 8\n"                       \
      "late_" #name ": .quad 0\n"         \
      ".asciz \"" #name "\"\n"            \
      ".popsection\n"                     \
      ".pushsection .text\n"              \
      ".globl " #name "\n"                \
      ".hidden " #name "\n"               \
      ".type " #name ", @function\n"      \
      #name ":\n"                         \
      "mov late_" #name "(%rip), %r11\n"  \
      "test %r11, %r11\n"                 \
      "jz 1f\n"                           \
      "jmp *%r11\n"                       \
      "1: lea late_" #name "(%rip), %r11\n" \
      "jmp late_call\n"                   \
      ".popsection\n");
#include NAMES

// Keeps every register that can hold an argument, looks the function up, and jumps to it.
asm(".pushsection .text\n"
    "late_call:\n"
    "push %rdi\n push %rsi\n push %rdx\n push %rcx\n push %r8\n push %r9\n push %rax\n"
    "sub $128, %rsp\n"
    "movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n movups %xmm2, 32(%rsp)\n movups %xmm3, 48(%rsp)\n"
    "movups %xmm4, 64(%rsp)\n movups %xmm5, 80(%rsp)\n movups %xmm6, 96(%rsp)\n movups %xmm7, 112(%rsp)\n"
    "mov %r11, %rdi\n"
    "call late_find\n"
    "mov %rax, %r11\n"
    "movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n movups 32(%rsp), %xmm2\n movups 48(%rsp), %xmm3\n"
    "movups 64(%rsp), %xmm4\n movups 80(%rsp), %xmm5\n movups 96(%rsp), %xmm6\n movups 112(%rsp), %xmm7\n"
    "add $128, %rsp\n"
    "pop %rax\n pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n pop %rsi\n pop %rdi\n"
    "jmp *%r11\n"
    ".popsection\n");

static int missing(void) {
  return MISSING;
}

// cudarc asks the driver for the text of an error, even if there is no driver.
static int describe(int error, const char **text) {
  (void)error;
  *text = LIBRARY " of the NVIDIA driver was not found";
  return 0;
}

// Called from `late_call`. Two threads may both look a function up; they find the same.
__attribute__((used)) static void *late_find(struct entry *entry) {
  void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  void *address = library ? dlsym(library, entry->name) : NULL;
  if (!address) {
    int describes = strcmp(entry->name, "cuGetErrorString") == 0;
    address = describes ? (void *)describe : (void *)missing;
  }
  __atomic_store_n(&entry->address, address, __ATOMIC_RELEASE);
  return address;
}
