// Solution install: a virtual appliance registers its extension with a token, good once, which it finds in
// its OVF environment; no administrator's password is needed.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

const (
	installPath   = "/ui/solution-install/extensions"
	installHeader = "solution-install-token"
)

// ctlInstall plays the vSphere Client that deploys an appliance: it makes a token and the text of the
// OVF environment that the appliance would find.
func (s *Server) ctlInstall(r *http.Request) (any, error) {
	a := struct {
		PluginID   string `json:"plugin_id"`
		SolutionID string `json:"solution_id"`
		Host       string `json:"host"` // name by which the appliance is told to find us
	}{}
	if err := arguments(r, &a); err != nil {
		return nil, err
	}
	if a.PluginID == "" {
		return nil, errors.New("plugin_id must be given")
	}
	if a.SolutionID == "" {
		a.SolutionID = a.PluginID
	}
	host := s.front
	if a.Host != "" {
		host = a.Host + s.front[strings.LastIndexByte(s.front, ':'):]
	}
	token, endpoint, thumb := randomHex(24), "https://"+host+installPath, s.Thumbprint()
	s.mu.Lock()
	s.installs[token] = a.PluginID
	s.mu.Unlock()
	properties := [][2]string{
		{"vmw.vsphereui.solutioninstall.pluginId", a.PluginID}, {"vmw.vsphereui.solutioninstall.solutionId", a.SolutionID},
		{"solutionInstall.token", token}, {"solutionInstall.postDeployData.endpoint", endpoint},
		{"solutionInstall.postDeployData.thumbprint", thumb}, {"solutionInstall.vCenters.count", "1"},
		{"solutionInstall.vCenters.0.hostname", host}, {"solutionInstall.vCenters.0.guid", s.InstanceUUID()},
		{"solutionInstall.vCenters.0.thumbprint", thumb},
	}
	return map[string]string{"token": token, "endpoint": endpoint, "thumbprint_sha256": thumb,
		"ovf_environment": ovfEnvironment(properties)}, nil
}

// ovfEnvironment is the document (DSP0243, section 9.1) as vSphere writes it.
func ovfEnvironment(properties [][2]string) string {
	out := &bytes.Buffer{}
	out.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<Environment
     xmlns="http://schemas.dmtf.org/ovf/environment/1"
     xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
     xmlns:oe="http://schemas.dmtf.org/ovf/environment/1"
     xmlns:ve="http://www.vmware.com/schema/ovfenv"
     oe:id=""
     ve:vCenterId="vm-1234">
   <PlatformSection>
      <Kind>VMware ESXi</Kind>
      <Version>8.0.3</Version>
      <Vendor>VMware, Inc.</Vendor>
      <Locale>en</Locale>
   </PlatformSection>
   <PropertySection>
`)
	for _, p := range properties {
		fmt.Fprintf(out, "         <Property oe:key=\"%s\" oe:value=\"", p[0])
		_ = xml.EscapeText(out, []byte(p[1]))
		out.WriteString("\"/>\n")
	}
	out.WriteString(`   </PropertySection>
   <ve:EthernetAdapterSection>
      <ve:Adapter ve:mac="00:50:56:aa:bb:cc" ve:network="VM Network" ve:unitNumber="7"/>
   </ve:EthernetAdapterSection>
</Environment>
`)
	return out.String()
}

// serveInstall registers the extensions of an appliance. The token is used up by the first request that shows it.
func (s *Server) serveInstall(w http.ResponseWriter, r *http.Request) {
	entry := s.log.http(s, r, "solution-install")
	rule := s.rules.take("solution-install", nil)
	if rule.before(w, r, s, entry) {
		return
	}
	status, err := s.install(r)
	if err != nil {
		entry.note(fmt.Sprint(status))
		restError(w, status, http.StatusText(status), err.Error())
		return
	}
	rule.deliver(w, r, s, http.StatusOK, "application/json", []byte("{}"))
}

func (s *Server) install(r *http.Request) (int, error) {
	token := r.Header.Get(installHeader)
	s.mu.Lock()
	plugin, known := s.installs[token]
	delete(s.installs, token)
	s.mu.Unlock()
	if !known {
		return http.StatusUnauthorized, errors.New("the token is unknown or used up")
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return http.StatusUnsupportedMediaType, errors.New("the content type is not application/json")
	}
	var body struct {
		List []struct {
			Extension *installed `json:"extension"`
		} `json:"vcenterExtensions"`
	}
	d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		return http.StatusBadRequest, err
	}
	if len(body.List) == 0 {
		return http.StatusBadRequest, errors.New("vcenterExtensions is empty")
	}
	for _, one := range body.List {
		if one.Extension == nil || one.Extension.Key != plugin {
			return http.StatusBadRequest, fmt.Errorf("only the extension %s may be registered", plugin)
		}
		if err := one.Extension.complete(); err != nil {
			return http.StatusBadRequest, err
		}
		if err := s.installOne(one.Extension.record()); err != nil {
			return http.StatusBadRequest, err
		}
	}
	return http.StatusOK, nil
}

func (s *Server) installOne(rec types.Extension) error {
	if err := checkRecord(&rec); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exts[rec.Key] != nil {
		return fmt.Errorf("%s is registered already", rec.Key)
	}
	s.exts[rec.Key] = &extension{record: rec}
	s.publishExtensions(rec.Key, types.PropertyChangeOpAdd)
	s.deploy(s.exts[rec.Key])
	return nil
}

// installed is an extension record in JSON.
type installed struct {
	Key         string             `json:"key"`
	Version     string             `json:"version"`
	Description *types.Description `json:"description"`
	Company     string             `json:"company"`
	Type        string             `json:"type"`
	SubjectName string             `json:"subjectName"`
	Server      []struct {
		URL         string             `json:"url"`
		Description *types.Description `json:"description"`
		Company     string             `json:"company"`
		Type        string             `json:"type"`
		AdminEmail  []string           `json:"adminEmail"`
		Thumbprint  string             `json:"serverThumbprint"`
		Certificate string             `json:"serverCertificate"`
	} `json:"server"`
	Client []struct {
		Version     string             `json:"version"`
		Description *types.Description `json:"description"`
		Company     string             `json:"company"`
		Type        string             `json:"type"`
		URL         string             `json:"url"`
	} `json:"client"`
	TaskList          []types.ExtensionTaskTypeInfo  `json:"taskList"`
	EventList         []types.ExtensionEventTypeInfo `json:"eventList"`
	FaultList         []types.ExtensionFaultTypeInfo `json:"faultList"`
	PrivilegeList     []types.ExtensionPrivilegeInfo `json:"privilegeList"`
	ResourceList      []types.ExtensionResourceInfo  `json:"resourceList"`
	LastHeartbeatTime time.Time                      `json:"lastHeartbeatTime"`
	HealthInfo        *types.ExtensionHealthInfo     `json:"healthInfo"`
	ManagedEntityInfo []types.ExtManagedEntityInfo   `json:"managedEntityInfo"`
	Shown             *bool                          `json:"shownInSolutionManager"`
}

// record is the same as the API's type.
func (x *installed) record() types.Extension {
	out := types.Extension{
		Key: x.Key, Version: x.Version, Description: x.Description, Company: x.Company, Type: x.Type,
		SubjectName: x.SubjectName, TaskList: x.TaskList, EventList: x.EventList, FaultList: x.FaultList,
		PrivilegeList: x.PrivilegeList, ResourceList: x.ResourceList, LastHeartbeatTime: x.LastHeartbeatTime,
		HealthInfo: x.HealthInfo, ManagedEntityInfo: x.ManagedEntityInfo, ShownInSolutionManager: x.Shown,
	}
	for _, v := range x.Server {
		out.Server = append(out.Server, types.ExtensionServerInfo{Url: v.URL, Description: v.Description, Company: v.Company,
			Type: v.Type, AdminEmail: v.AdminEmail, ServerThumbprint: v.Thumbprint, ServerCertificate: v.Certificate})
	}
	for _, v := range x.Client {
		out.Client = append(out.Client, types.ExtensionClientInfo{Version: v.Version, Description: v.Description,
			Company: v.Company, Type: v.Type, Url: v.URL})
	}
	return out
}

// complete tells whether the members that the API's schema wants are there.
func (x *installed) complete() error {
	missing := x.Description == nil || x.LastHeartbeatTime.IsZero()
	for _, v := range x.Server {
		missing = missing || v.Description == nil || v.Company == "" || len(v.AdminEmail) == 0
	}
	for _, v := range x.Client {
		missing = missing || v.Description == nil || v.Company == "" || v.Version == "" || v.URL == ""
	}
	if missing {
		return errors.New("description, lastHeartbeatTime and all members of server and client must be given")
	}
	return nil
}
