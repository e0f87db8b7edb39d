/* SPDX-License-Identifier: Apache-2.0 */
/* Marks the symbols that the shared library exports. */
#ifndef ROTARY_EXPORT_H
#define ROTARY_EXPORT_H

#if defined(__GNUC__)
#define ROTARY_API __attribute__((visibility("default")))
#else
#define ROTARY_API
#endif

#endif /* ROTARY_EXPORT_H */
