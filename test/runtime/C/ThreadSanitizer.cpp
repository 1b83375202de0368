// What ThreadSanitizer is told of the runtime.

// It forgets what was in memory that was unmapped page by page, and not what was in a block of less
// than one. Where a module is mapped there by the loader, which it does not see, it takes reading
// the module for a race with the block's last writer.
extern "C" const char *__tsan_default_suppressions();
const char *__tsan_default_suppressions() { return "race:dlc::runtime::Module::load\n"; }
