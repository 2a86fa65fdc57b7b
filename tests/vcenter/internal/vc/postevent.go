// Posting events: what an EventEx must be like, and its text in the reader's language.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"encoding/xml"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"kaas.test/vcenter/internal/wire"
)

// eventSchema is the descriptor of an event type: ExtensionEventTypeInfo.eventTypeSchema in the API reference.
type eventSchema struct {
	XMLName   xml.Name `xml:"EventType"`
	ID        string   `xml:"eventTypeID"`
	Arguments []struct {
		Name string `xml:"name"`
		Type string `xml:"type"`
	} `xml:"arguments>argument"`
}

var argumentTypes = []string{"string", "bool", "int", "long", "float", "moid", "vm", "host", "resourcepool", "computeresource",
	"datacenter", "datastore", "network", "dvs"}

func readEventSchema(text string) (*eventSchema, error) {
	var out eventSchema
	if err := xml.Unmarshal([]byte(text), &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// checkEventTypes applies the documented structure to the descriptors of a record.
func checkEventTypes(x *types.Extension) error {
	for _, e := range x.EventList {
		if e.EventID == "" {
			return badArgument("extension.eventList", "an event has no id")
		}
		if e.EventTypeSchema == "" {
			continue
		}
		schema, err := readEventSchema(e.EventTypeSchema)
		if err != nil {
			return badArgument("extension.eventList.eventTypeSchema", "%v", err)
		}
		if schema.ID != "" && schema.ID != e.EventID {
			return badArgument("extension.eventList.eventTypeSchema", "eventTypeID %q is not the event's id %q", schema.ID, e.EventID)
		}
		for _, a := range schema.Arguments {
			if a.Name == "" || !slices.Contains(argumentTypes, a.Type) {
				return badArgument("extension.eventList.eventTypeSchema", "argument %q has the type %q", a.Name, a.Type)
			}
		}
	}
	return nil
}

// eventType finds the event type that an extension has registered; only its own ones, if an extension asks.
func (c *call) eventType(id string) (*types.ExtensionEventTypeInfo, bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for key, x := range c.s.exts {
		if own := c.sess.who.ext; own != "" && own != key {
			continue
		}
		for _, e := range x.record.EventList {
			if e.EventID == id {
				return &e, true
			}
		}
	}
	return nil, false
}

func invalidEvent(format string, args ...any) error {
	return wire.Faultf(&types.InvalidEvent{}, "The event is invalid: "+format, args...)
}

// checkEventEx applies what is documented of EventEx, and the descriptor of its type as strictly as the documentation says that a
// server may: every argument named there, none else, of its type.
func (c *call) checkEventEx(e *types.EventEx) error {
	kind, ok := c.eventType(e.EventTypeId)
	if !ok {
		return invalidEvent("no extension has registered the type %q", e.EventTypeId)
	}
	if !slices.Contains([]string{"", "info", "warning", "error", "user"}, e.Severity) {
		return invalidEvent("severity %q", e.Severity)
	}
	if e.ObjectType != "" && !c.s.isEntity(moRef{Type: e.ObjectType, Value: e.ObjectId}) {
		return invalidEvent("the object %s %q is not in the inventory", e.ObjectType, e.ObjectId)
	}
	if kind.EventTypeSchema == "" {
		return nil
	}
	schema, err := readEventSchema(kind.EventTypeSchema)
	if err != nil {
		return err
	}
	return checkEventArguments(schema, e.Arguments)
}

func checkEventArguments(schema *eventSchema, arguments []types.KeyAnyValue) error {
	missing := map[string]string{}
	for _, a := range schema.Arguments {
		missing[a.Name] = a.Type
	}
	for _, a := range arguments {
		kind, ok := missing[a.Key]
		if !ok {
			return invalidEvent("the argument %q is not one of its type, or there twice", a.Key)
		}
		if _, isText := a.Value.(string); !isText && (kind == "string" || kind == "moid") {
			return invalidEvent("the argument %q is no string", a.Key)
		}
		delete(missing, a.Key)
	}
	for name := range missing {
		return invalidEvent("the argument %q is missing", name)
	}
	return nil
}

// postEvent asks Global.LogEvent on the object that the event is about, on the root folder if there is none.
func postEvent(c *call) (any, error) {
	event := body[types.PostEvent](c).EventToPost
	on := c.s.root
	if ref := eventEntity(event); ref != nil {
		if !c.s.isEntity(*ref) {
			return nil, notFound(*ref)
		}
		on = *ref
	}
	if err := c.require("Global.LogEvent", on); err != nil {
		return nil, err
	}
	if e, ok := event.(*types.EventEx); ok {
		if err := c.checkEventEx(e); err != nil {
			return nil, err
		}
	}
	event.GetEvent().FullFormattedMessage = ""
	c.s.postEvent(c.sess.UserName, event)
	if e, ok := event.(*types.EventEx); ok {
		c.s.turnAlarms(e)
	}
	return &types.PostEventResponse{}, nil
}

// localized gives events of extensions the text that the session's language has for them, else English.
func (c *call) localized(list []types.BaseEvent, isFull bool) []types.BaseEvent {
	out := slices.Clone(list)
	for i, event := range out {
		e, ok := event.(*types.EventEx)
		if !ok || !isFull {
			continue
		}
		text := c.eventText(e.EventTypeId + ".fullFormat")
		if text == "" {
			continue
		}
		for _, a := range e.Arguments {
			if value, ok := a.Value.(string); ok {
				text = strings.ReplaceAll(text, "{"+a.Key+"}", value)
			}
		}
		shown := *e
		shown.FullFormattedMessage = text
		out[i] = &shown
	}
	return out
}

func (c *call) eventText(key string) string {
	language, _, _ := strings.Cut(c.sess.Locale, "_")
	found := map[string]string{}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for _, x := range c.s.exts {
		for _, r := range x.record.ResourceList {
			for _, item := range r.Data {
				if r.Module == "event" && item.Key == key {
					found[r.Locale] = item.Value
				}
			}
		}
	}
	if text, ok := found[language]; ok {
		return text
	}
	return found["en"]
}
