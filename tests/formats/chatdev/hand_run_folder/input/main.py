'''Pears.'''
print('pears', 'plums')
print('more')
