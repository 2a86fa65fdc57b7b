// SOAP faults as values: what a handler returns instead of an answer.
// SPDX-License-Identifier: GPL-3.0-or-later
package wire

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Fault codes of the real server; they are plain text without a prefix.
const (
	ServerFault     = "ServerFaultCode"
	ClientFault     = "ClientFaultCode"
	VersionMismatch = "VersionMismatchFaultCode"
)

// Fault is a SOAP fault; Detail is a pointer to one of govmomi's fault types or nil.
type Fault struct {
	Code   string
	Text   string
	Detail any
}

func (f *Fault) Error() string { return f.Code + ": " + f.Text }

// Faultf makes a server fault with detail.
func Faultf(detail types.BaseMethodFault, format string, args ...any) *Fault {
	return &Fault{Code: ServerFault, Text: fmt.Sprintf(format, args...), Detail: detail}
}

// Invalid makes the InvalidRequest that refuses a malformed call.
func Invalid(format string, args ...any) *Fault {
	return Faultf(&types.InvalidRequest{}, format, args...)
}

// FromSoap takes over a fault that a simulator method returned.
func FromSoap(f *soap.Fault) *Fault {
	out := &Fault{Code: ServerFault, Text: f.String, Detail: f.Detail.Fault}
	if out.Text == "" {
		out.Text = "The operation failed: " + out.Name()
	}
	return out
}

// Name is the fault's type on the wire, its code when it carries no detail.
func (f *Fault) Name() string {
	if f.Detail == nil {
		return f.Code
	}
	return TypeName(indirect(f.Detail))
}
