// Retrieval in pages: never more objects than the page size, even when the caller sets no limit;
// a token is good once, in its session and on its collector.
// SPDX-License-Identifier: GPL-3.0-or-later
package vc

import (
	"strconv"

	"github.com/vmware/govmomi/vim25/types"
)

type page struct {
	collector moRef
	size      int
	objects   []types.ObjectContent
}

func retrievePropertiesEx(c *call) (any, error) {
	req := body[types.RetrievePropertiesEx](c)
	objects, err := c.collectProperties(req.SpecSet)
	if err != nil {
		return nil, err
	}
	c.s.mu.Lock()
	size := c.s.settings.PageSize
	c.s.mu.Unlock()
	if n := int(req.Options.MaxObjects); n > 0 && n < size {
		size = n
	}
	res := &types.RetrievePropertiesExResponse{}
	if len(objects) > 0 {
		res.Returnval = c.cut(&page{collector: req.This, size: size, objects: objects})
	}
	return res, nil
}

// cut takes the next page off and remembers the rest under a new token.
func (c *call) cut(p *page) *types.RetrieveResult {
	if len(p.objects) <= p.size || c.sess == nil {
		return &types.RetrieveResult{Objects: p.objects}
	}
	out := &types.RetrieveResult{Objects: p.objects[:p.size], Token: strconv.Itoa(c.sess.token)}
	p.objects = p.objects[p.size:]
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.sess.token++
	c.sess.pages[out.Token] = p
	return out
}

// turn takes a page out of the book; nil if the token is stale or of another collector.
func (c *call) turn(token string) *page {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	p := c.sess.pages[token]
	if p == nil || p.collector != c.req.This {
		return nil
	}
	delete(c.sess.pages, token)
	return p
}

func continueRetrieve(c *call) (any, error) {
	req := body[types.ContinueRetrievePropertiesEx](c)
	p := c.turn(req.Token)
	if p == nil {
		return nil, badToken(req.Token)
	}
	return &types.ContinueRetrievePropertiesExResponse{Returnval: *c.cut(p)}, nil
}

func cancelRetrieve(c *call) (any, error) {
	req := body[types.CancelRetrievePropertiesEx](c)
	if c.turn(req.Token) == nil {
		return nil, badToken(req.Token)
	}
	return &types.CancelRetrievePropertiesExResponse{}, nil
}

// retrieveProperties is the old call without pages, which some clients still use.
func retrieveProperties(c *call) (any, error) {
	objects, err := c.collectProperties(body[types.RetrieveProperties](c).SpecSet)
	if err != nil {
		return nil, err
	}
	return &types.RetrievePropertiesResponse{Returnval: objects}, nil
}
