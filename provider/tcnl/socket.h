/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_SOCKET_H
#define TCNL_SOCKET_H 1

/* The real transport: a NETLINK_ROUTE socket.
 *
 * Set on it: NETLINK_CAP_ACK (an error ack carries only the header of its
 * request), NETLINK_EXT_ACK (error texts), NETLINK_GET_STRICT_CHK, a receive
 * buffer of 'rcvbuf' and a send buffer of 'sndbuf' bytes, by the FORCE options
 * where the process may.  Datagrams that do not come from the kernel are
 * dropped. */

#include "transport.h"

#define TCNL_SOCKET_RCVBUF (4u << 20)
#define TCNL_SOCKET_SNDBUF (1u << 20)

/* Opens a socket; 'rcvbuf' and 'sndbuf' in bytes, 0 for the defaults above.
 * Returns 0 and stores the transport in '*transport', which the caller closes
 * with tcnl_transport_close(); or a positive errno value. */
int tcnl_socket_open(size_t rcvbuf, size_t sndbuf,
                     struct tcnl_transport **transport);

#endif /* tcnl/socket.h */
