/* SPDX-License-Identifier: Apache-2.0 */

/* Ports and meters of translate.h, in the place of the provider's own. */

#include <config.h>

#include "dpif-offload-provider.h"
#include "tcb-meter.h"
#include "tcb-port.h"
#include "translate.h"

static struct tcb_port ports[TEST_N_PORTS];

static struct tcb_port *
get_port(uint32_t port_no)
{
    struct tcb_port *port;

    if (port_no < 1 || port_no >= TEST_N_PORTS) {
        return NULL;
    }
    port = &ports[port_no];
    port->up.port_no = u32_to_odp(port_no);
    port->up.ifindex = test_ifindex(port_no);
    port->internal = port_no == TEST_INTERNAL_PORT;
    return port;
}

struct tcb_port *
tcb_port_find(const struct tcb_offload *offload OVS_UNUSED,
              odp_port_t port_no)
{
    return get_port(odp_to_u32(port_no));
}

struct tcb_port *
tcb_port_find_by_ifindex(const struct tcb_offload *offload OVS_UNUSED,
                         int ifindex)
{
    return get_port(ifindex - test_ifindex(0));
}

enum tcb_port_state
tcb_port_wait(const struct tcb_port *port)
{
    return (port == &ports[TEST_UNREADY_PORT]
            ? TCB_PORT_OFF : TCB_PORT_READY);
}

bool
tcb_meter_to_police(const struct tcb_offload *offload OVS_UNUSED,
                    uint32_t meter_id, uint32_t *police_index)
{
    *police_index = TCB_POLICE_BASE + meter_id;
    return meter_id >= 1 && meter_id <= 15;
}

bool
tcb_meter_from_police(const struct tcb_offload *offload OVS_UNUSED,
                      uint32_t police_index, uint32_t *meter_id)
{
    *meter_id = police_index - TCB_POLICE_BASE;
    return *meter_id >= 1 && *meter_id <= 15;
}
