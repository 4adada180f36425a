/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COUNT_CALLS_H
#define COUNT_CALLS_H 1

/* Counts the system calls to send and to receive, of a program that is linked
 * with count-calls.c and the linker options that its lines with WRAP make. */

/* How many there were so far, of all threads. */
unsigned int count_calls(void);

#endif /* count-calls.h */
