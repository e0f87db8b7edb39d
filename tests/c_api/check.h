/* SPDX-License-Identifier: Apache-2.0 */
/* Checks for tests in C. A failed check is printed and counted. */
#ifndef ROTARY_TESTS_C_API_CHECK_H
#define ROTARY_TESTS_C_API_CHECK_H

#include "rotary/rotary.h"
#include "rotary/rotary_kv_cache.h"

/* Prints the text if the condition is 0. Returns the condition. */
int check(int condition, const char* file, int line, const char* text);
int check_count_failed(void);

/* The call must fail with this status, and the error text must contain the part. */
int check_fails(rotary_status got, rotary_status wanted, const char* part, const char* file,
                int line);

#define CHECK(condition) check((condition) != 0, __FILE__, __LINE__, #condition)
#define CHECK_OK(call) check((call) == ROTARY_OK, __FILE__, __LINE__, rotary_last_error())
#define CHECK_FAILS(call, status, part) check_fails((call), (status), (part), __FILE__, __LINE__)

void test_library(void); /* version, names, instruction set */
void test_model(void);
void test_rotations(void);
void test_null_arguments(void);
void test_bad_values(void);

#endif /* ROTARY_TESTS_C_API_CHECK_H */
