// Selects among loops compiled for several processor levels by the processor in use.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define HR_X86_LEVELS 1
#endif

namespace hr {

// x86-64-v3 has AVX2 and FMA, x86-64-v4 AVX-512 with byte, word, double word and short vectors.
enum class ProcessorLevel { any, v3, v4 };

// The best that this processor has. HEADRACE_PROCESSOR_LEVEL=v3 or =any, read once, requests less:
// to test and measure the loops of lesser processors on a better one.
ProcessorLevel processor_level();

}  // namespace hr
