// Which handler runs an operation and which privilege it asks. The privileges are those that
// VMware's published type information names for each method.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import "strings"

type opRule struct {
	anonymous bool   // may be called without a session
	privilege string // "" when the handler itself decides
	onRoot    bool   // asked on the root folder whatever the receiver
}

var opRules = map[string]opRule{
	"RetrieveServiceContent":       {anonymous: true},
	"Login":                        {anonymous: true},
	"LoginByToken":                 {anonymous: true},
	"LoginExtensionByCertificate":  {anonymous: true},
	"CloneSession":                 {anonymous: true},
	"Fetch":                        {anonymous: true},
	"RetrieveProperties":           {anonymous: true},
	"RetrievePropertiesEx":         {anonymous: true},
	"RetrieveProductComponents":    {anonymous: true},
	"Logout":                       {},
	"SessionIsActive":              {privilege: "Sessions.ValidateSession", onRoot: true},
	"TerminateSession":             {privilege: "Sessions.TerminateSession", onRoot: true},
	"ImpersonateUser":              {privilege: "Sessions.ImpersonateUser", onRoot: true},
	"UpdateServiceMessage":         {privilege: "Sessions.GlobalMessage", onRoot: true},
	"RegisterExtension":            {privilege: "Extension.Register", onRoot: true},
	"UnregisterExtension":          {privilege: "Extension.Unregister", onRoot: true},
	"UpdateExtension":              {}, // an extension may change its own record
	"SetExtensionCertificate":      {},
	"SetPublicKey":                 {},
	"SetServiceAccount":            {privilege: "Extension.Update", onRoot: true},
	"HasUserPrivilegeOnEntities":   {}, // judged on the entities
	"FetchUserPrivilegeOnEntities": {},
	"AddAuthorizationRole":         {privilege: "Authorization.ModifyRoles", onRoot: true},
	"UpdateAuthorizationRole":      {privilege: "Authorization.ModifyRoles", onRoot: true},
	"RemoveAuthorizationRole":      {privilege: "Authorization.ModifyRoles", onRoot: true},
	"MergePermissions":             {privilege: "Authorization.ReassignRolePermissions", onRoot: true},
	"SetEntityPermissions":         {},
	"ResetEntityPermissions":       {},
	"RemoveEntityPermission":       {},
	"RetrieveEntityPermissions":    {},
	"DestroyPropertyFilter":        {},
	"DestroyCollector":             {},
	"SetCollectorPageSize":         {},
	"RewindCollector":              {},
	"ResetCollector":               {},
	"ReadNextEvents":               {},
	"PostEvent":                    {}, // judged on the object that the event is about
	"CreateAlarm":                  {}, // these three on the entity that the alarm is defined on
	"ReconfigureAlarm":             {},
	"RemoveAlarm":                  {},
	"LogUserEvent":                 {privilege: "Global.LogEvent", onRoot: true},
	"CreateTask":                   {privilege: "Task.Create", onRoot: true},
	"SetTaskState":                 {privilege: "Task.Update", onRoot: true},
	"UpdateProgress":               {privilege: "Task.Update", onRoot: true},
	"CancelTask":                   {}, // who started the task needs none
	"UpdateOptions":                {privilege: "Global.Settings", onRoot: true},
	"CreateFolder":                 {privilege: "Folder.Create"},
	"MoveIntoFolder_Task":          {privilege: "Folder.Move"},
	"CreateDatacenter":             {privilege: "Datacenter.Create"},
	"CreateClusterEx":              {privilege: "Host.Inventory.CreateCluster"},
	"AddHost_Task":                 {privilege: "Host.Inventory.AddHostToCluster"},
	"CreateVM_Task":                {privilege: "VirtualMachine.Inventory.Create"},
	"CloneVM_Task":                 {}, // these three judge each part of the request
	"ReconfigVM_Task":              {},
	"Destroy_Task":                 {},
	"PowerOnVM_Task":               {privilege: "VirtualMachine.Interact.PowerOn"},
	"PowerOffVM_Task":              {privilege: "VirtualMachine.Interact.PowerOff"},
	"ResetVM_Task":                 {privilege: "VirtualMachine.Interact.Reset"},
	"SuspendVM_Task":               {privilege: "VirtualMachine.Interact.Suspend"},
	"ShutdownGuest":                {privilege: "VirtualMachine.Interact.PowerOff"},
	"RebootGuest":                  {privilege: "VirtualMachine.Interact.Reset"},
	"StandbyGuest":                 {privilege: "VirtualMachine.Interact.Suspend"},
	"CreateSnapshot_Task":          {privilege: "VirtualMachine.State.CreateSnapshot"},
	"CreateSnapshotEx_Task":        {privilege: "VirtualMachine.State.CreateSnapshot"},
	"RemoveSnapshot_Task":          {}, // on the snapshot's machine
	"RemoveAllSnapshots_Task":      {privilege: "VirtualMachine.State.RemoveSnapshot"},
	"MarkAsTemplate":               {privilege: "VirtualMachine.Provisioning.MarkAsTemplate"},
	"MarkAsVirtualMachine":         {privilege: "VirtualMachine.Provisioning.MarkAsVM"},
	"RefreshDatastore":             {privilege: privRead},
	"UnregisterVM":                 {privilege: "VirtualMachine.Inventory.Unregister"},
	"Rename_Task":                  {privilege: "Folder.Rename"},
	"EnterMaintenanceMode_Task":    {privilege: "Host.Config.Maintenance"},
	"ExitMaintenanceMode_Task":     {privilege: "Host.Config.Maintenance"},
}

// operationRule gives the rule of any operation: what only looks needs System.View, everything
// else that the table does not know needs the right to change global settings.
func operationRule(op string) opRule {
	if r, ok := opRules[op]; ok {
		return r
	}
	if _, ours := handlers[op]; ours {
		return opRule{privilege: privView}
	}
	for _, prefix := range []string{
		"Retrieve", "Query", "Find", "Create", "Wait", "Check", "Cancel", "Continue", "Destroy", "Current",
		"Modify", "Reset", "Read", "Rewind", "Get", "Acquire",
	} {
		if strings.HasPrefix(op, prefix) && !strings.HasSuffix(op, "_Task") {
			return opRule{privilege: privView}
		}
	}
	return opRule{privilege: "Global.Settings", onRoot: true}
}

type ownHandler struct {
	manager string // type of the receiver, "" for any
	run     handler
}

var handlers map[string]ownHandler

func init() {
	const sm, em, am, pc = "SessionManager", "ExtensionManager", "AuthorizationManager", "PropertyCollector"
	const vm = "VirtualMachine"
	handlers = map[string]ownHandler{
		"RetrieveServiceContent":       {"ServiceInstance", retrieveServiceContent},
		"CurrentTime":                  {"ServiceInstance", currentTime},
		"Login":                        {sm, login},
		"LoginByToken":                 {sm, loginByToken},
		"LoginExtensionByCertificate":  {sm, loginExtensionByCertificate},
		"Logout":                       {sm, logout},
		"SessionIsActive":              {sm, sessionIsActive},
		"TerminateSession":             {sm, terminateSession},
		"AcquireCloneTicket":           {sm, acquireCloneTicket},
		"CloneSession":                 {sm, cloneSession},
		"ImpersonateUser":              {sm, impersonateUser},
		"FindExtension":                {em, findExtension},
		"RegisterExtension":            {em, registerExtension},
		"UpdateExtension":              {em, updateExtension},
		"UnregisterExtension":          {em, unregisterExtension},
		"SetExtensionCertificate":      {em, setExtensionCertificate},
		"SetPublicKey":                 {em, setPublicKey},
		"GetPublicKey":                 {em, getPublicKey},
		"QueryManagedBy":               {em, queryManagedBy},
		"SetServiceAccount":            {em, setServiceAccount},
		"HasPrivilegeOnEntities":       {am, hasPrivilegeOnEntities},
		"HasPrivilegeOnEntity":         {am, hasPrivilegeOnEntity},
		"HasUserPrivilegeOnEntities":   {am, hasUserPrivilegeOnEntities},
		"FetchUserPrivilegeOnEntities": {am, fetchUserPrivilegeOnEntities},
		"RetrieveEntityPermissions":    {am, retrieveEntityPermissions},
		"RetrieveAllPermissions":       {am, retrieveAllPermissions},
		"RetrieveRolePermissions":      {am, retrieveRolePermissions},
		"AddAuthorizationRole":         {am, addAuthorizationRole},
		"UpdateAuthorizationRole":      {am, updateAuthorizationRole},
		"RemoveAuthorizationRole":      {am, removeAuthorizationRole},
		"MergePermissions":             {am, mergePermissions},
		"SetEntityPermissions":         {am, setEntityPermissions},
		"ResetEntityPermissions":       {am, resetEntityPermissions},
		"RemoveEntityPermission":       {am, removeEntityPermission},
		"Fetch":                        {"", fetch},
		"RetrieveProperties":           {pc, retrieveProperties},
		"RetrievePropertiesEx":         {pc, retrievePropertiesEx},
		"ContinueRetrievePropertiesEx": {pc, continueRetrieve},
		"CancelRetrievePropertiesEx":   {pc, cancelRetrieve},
		"CreateFilter":                 {pc, createFilter},
		"WaitForUpdatesEx":             {pc, waitForUpdates},
		"WaitForUpdates":               {pc, waitForUpdatesOld},
		"CreatePropertyCollector":      {pc, createPropertyCollector},
		"DestroyPropertyCollector":     {pc, destroyPropertyCollector},
		"CancelWaitForUpdates":         {pc, cancelWaitForUpdates},
		"DestroyPropertyFilter":        {"PropertyFilter", destroyPropertyFilter},
		"CreateContainerView":          {"ViewManager", createContainerView},
		"DestroyView":                  {"", destroyView},
		opEnter:                        {"HostSystem", enterMaintenanceMode},
		opExit:                         {"HostSystem", exitMaintenanceMode},
		"PostEvent":                    {"EventManager", postEvent},
		"CreateAlarm":                  {"AlarmManager", createAlarm},
		"GetAlarm":                     {"AlarmManager", getAlarm},
		"ReconfigureAlarm":             {"Alarm", reconfigureAlarm},
		"RemoveAlarm":                  {"Alarm", removeAlarm},
		"CreateCollectorForEvents":     {"EventManager", createCollectorForEvents},
		"DestroyCollector":             {"", destroyCollector},
		"SetCollectorPageSize":         {"", setCollectorPageSize},
		"RewindCollector":              {"", rewindCollector},
		"ResetCollector":               {"", rewindCollector},
		"ReadNextEvents":               {"", readNextEvents},
		opClone:                        {vm, cloneVM},
		opReconfig:                     {vm, reconfigVM},
		opPowerOn:                      {vm, powerOnVM},
		opPowerOff:                     {vm, powerOffVM},
		"ResetVM_Task":                 {vm, resetVM},
		"ShutdownGuest":                {vm, shutdownGuest},
		"RebootGuest":                  {vm, rebootGuest},
		"CreateSnapshot_Task":          {vm, createSnapshot},
		"CreateSnapshotEx_Task":        {vm, createSnapshot},
		"RemoveSnapshot_Task":          {"VirtualMachineSnapshot", removeSnapshot},
		"MarkAsTemplate":               {vm, markAsTemplate},
		"MarkAsVirtualMachine":         {vm, markAsVirtualMachine},
		opDestroy:                      {"", destroy},
		"CreateFolder":                 {"Folder", createFolder},
		"RefreshDatastore":             {"Datastore", refreshDatastore},
		"FindByUuid":                   {"SearchIndex", findByUuid},
		"FindAllByUuid":                {"SearchIndex", findAllByUuid},
		"CancelTask":                   {"Task", cancelTask},
		"SetTaskState":                 {"Task", foreignTask},
		"SetTaskDescription":           {"Task", foreignTask},
		"UpdateProgress":               {"Task", foreignTask},
	}
}
